"""Stores the review queue and the requests to suppliers."""
