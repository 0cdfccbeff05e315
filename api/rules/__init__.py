"""`pcds ruleset`: installs a version of the grading rules."""
