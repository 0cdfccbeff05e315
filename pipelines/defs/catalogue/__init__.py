"""Facts that the service reads and no company owns: the jurisdiction catalogue and the rule-sets."""
