"""HTTP server of an API process: uvicorn, with limits on what a connection may use before it is answered.

    bounds.py    limits of size, speed and number: from the settings
    peers.py     how many connections each network has
    refusal.py   the error body of the service as bytes, for connections that never become a request
    protocol.py  one connection under the limits
    __main__.py  the process: `python -m api.server`

What belongs here: limits of a connection. What does not: limits of a request (`api.auth`, `api.bodies`).
"""
