"""What is held, graded by the rule-set of the day."""
