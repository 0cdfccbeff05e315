"""Sign-in of the operator's staff, and their access to Dagster, which nobody else has (decision 0032).

Nothing here shows a record of a company through a page of the service, and no session here opens one.
"""
