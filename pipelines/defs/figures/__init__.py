"""Defines the assets of figures: from a company's snapshot to tonnes by scheme category, compared with thresholds."""
