"""The connector's authorization server: OAuth 2.1 as the MCP authorization specification of 2026-07-28 asks for it.

    addresses.py      the issuer, its endpoints, and the one resource
    metadata.py       what clients discover (RFC 9728, RFC 8414)
    registration.py   applications that register themselves (RFC 7591)
    documents.py      applications that publish a metadata document; outside.py fetches it
    clients.py        which application it is, and whether it is the one it says
    redirects.py      where an application may take a person back to
    authorization.py  what an application asks a person for (RFC 7636, RFC 8707, RFC 9207)
    token.py          codes and refresh tokens for tokens
    revocation.py     a token ended by its application (RFC 7009)

The pages on which a person signs in and consents are `api.pages`; what is held and spent is
`warehouse.accounts.connections`. The requests that come with a token pass `connector.gate`. This is apart from the
token endpoint of the REST interface, which serves keys only.
"""
