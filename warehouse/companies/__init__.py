"""Companies, their plans and counters, and the slugs by which Dagster knows them."""
