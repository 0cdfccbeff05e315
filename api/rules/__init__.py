"""Rule-sets, grading and regrading: the modules of `api` about it."""
