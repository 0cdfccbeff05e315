"""The HTTP server of an API process: uvicorn, with bounds on what a connection may ask for before it is answered.

    bounds.py    how large, how slow, how many: from the settings
    peers.py     how many connections each network holds
    refusal.py   the error body of the service as bytes, for what never becomes a request
    protocol.py  one connection under the bounds
    __main__.py  the process: `python -m api.server`

What belongs here: what a connection may cost. What does not: what a request may (`api.auth`, `api.bodies`).
"""
