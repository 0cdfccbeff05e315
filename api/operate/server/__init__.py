"""HTTP server of an API process: uvicorn, with limits on what a connection may use before it is answered.

    protocol.py   limits of size, speed and number: from the settings; how many connections each network has; the error
                  body of the service as bytes, for connections that never become a request; one connection under the
                  limits
    __main__.py   the process: `python -m api.operate.server`

What belongs here: limits of a connection. What does not: limits of a request (`api.http.auth`, `api.http.requests`).
"""
