"""The pages seen with a real browser: Chromium, an assistant that connects, a company with something to show.

What belongs here: what both the browser tests and `make screenshots` need. What does not: what a page must hold, which
is the tests' (`tests/browser`). Everything goes through the front door of a running service.
"""
