"""Defines the assets that publish a company's portfolio after each write."""
