"""The review queue and the requests to suppliers."""
