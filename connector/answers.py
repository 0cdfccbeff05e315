"""Decides whether a call answers a question that its connection was asked, and so counts as an answer and no call.

An answer has the sealed state of a question (`requestState`) or a confirmation code. `connector.tools.asking` checks
what it confirms, and whether it is still valid, when it files.
"""

from collections.abc import Mapping

from mcp.server.request_state import InvalidRequestState

from connector.seal import security
from connector.service import Service
from connector.tools import reading
from warehouse.access.keys import digest
from warehouse.accounts.connections import Admitted
from warehouse.confirmations import queries as confirmations


class Answers:
    """Unseals this data directory's questions, and looks up codes."""

    def __init__(self, service: Service) -> None:
        self._service, self._codec = service, security(service.settings).codec

    async def one(self, admitted: Admitted, params: Mapping[str, object]) -> bool:
        """Return whether the parameters of a call contain an answer to a question that we asked."""
        match params:
            case {"requestState": str(state)}:
                return self._sealed(state)
            case {"arguments": {"confirmation": str(code)}}:
                return await self._given(admitted, code)
        return False

    def _sealed(self, state: str) -> bool:
        try:
            self._codec.unseal(state)
        except InvalidRequestState:
            return False
        return True

    async def _given(self, admitted: Admitted, code: str) -> bool:
        asked = {"code": digest(code), "connection": admitted.connection_id, "at": self._service.clock.now()}
        return await reading.row(self._service, admitted.company_id, confirmations.GIVEN, asked) is not None
