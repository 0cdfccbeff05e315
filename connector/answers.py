"""Whether a call brings the answer to a question that its connection was asked, and is therefore paid for.

An answer is one with the sealed state of a question (`requestState`) or with a confirmation code. What it confirms, and
whether it still may, is judged where it is filed (`connector.tools.asking`).
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
    """Knows the seal of this data directory's questions, and looks codes up."""

    def __init__(self, service: Service) -> None:
        self._service, self._codec = service, security(service.settings).codec

    async def one(self, admitted: Admitted, params: Mapping[str, object]) -> bool:
        """Whether the parameters of a call hold an answer to a question of ours."""
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
