"""What a company would declare for a market and a period, computed from its figures."""
