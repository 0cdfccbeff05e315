"""Opens the pages in a real browser: Chromium, an assistant that connects, a company with data on every page.

What belongs here: code for both the browser tests and `make screenshots`. What does not: checks of a page's content,
which belong in `tests/browser`. Everything uses the public interface of a running service.
"""
