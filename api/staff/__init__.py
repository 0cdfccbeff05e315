"""The operator's staff: how they sign in, and the door to Dagster that is theirs alone (decision 0032).

Nothing here shows a record of a company through a page of the service, and no session here opens one.
"""
