"""From a company's snapshot to tonnes by scheme category, and where they stand against thresholds."""
