"""Stores snapshots and figures as Parquet files, and reads overviews, gaps and markets from them."""
