"""What analysts see of an asset in the Dagster UI: its columns (`columns`), and tables and pictures of a run."""
