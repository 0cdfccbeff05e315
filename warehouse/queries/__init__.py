"""What is read for callers: SQL texts, one file per subject, whose answers leave the service as they come.

Every query runs in a session that has its company set; none names a company itself, because the rows that it could
see are decided by row-level security. Writes of SKUs are `pipelines.steps`.
"""
