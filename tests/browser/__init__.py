"""Pages and journeys in a real Chromium."""
