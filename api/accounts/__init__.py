"""Tokens of API keys, sign-in of people, and the pages and commands of their accounts."""
