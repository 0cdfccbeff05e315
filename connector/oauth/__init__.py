"""Serves the connector's authorization: OAuth 2.1 as the MCP authorization specification of 2026-07-28 requires it.

    endpoints.py       the issuer, its endpoints and the only resource; how a request is parsed, and how one is refused
    routes.py          the discovery documents (RFC 9728, RFC 8414); applications that register themselves (RFC 7591);
                       exchanges codes and refresh tokens for tokens, and ends a token for its application (RFC 7009)
    clients.py         applications that register or publish a metadata document: identifies and authenticates them
    authorization.py   allowed redirect addresses; checks an application's request for a person's consent (RFC 7636,
                       RFC 8707, RFC 9207)

`api.pages` has the pages on which a person signs in and consents; `warehouse.assistants` stores and redeems
codes and tokens. Requests with a token pass `connector.gate`. The token endpoint of the REST interface is separate and
serves keys only.
"""
