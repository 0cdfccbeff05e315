"""Defines the writing of exports: a job for a company, which the API requests, and a sensor where that was lost."""
