"""Decides whether a call answers a question that its connection was asked, and so counts as an answer and no call.

An answer has the sealed state of a question (`requestState`) or a confirmation code. `connector.tools.assistants`
checks
what it confirms, and whether it is still valid, when it files.
"""

import secrets
from collections.abc import Mapping

from mcp.server.request_state import InvalidRequestState, RequestStateSecurity

from connector.service import Service
from connector.tools import kit
from schemas.refusals import Refused
from warehouse import assistants as confirmations
from warehouse.accounts.keys import digest
from warehouse.assistants import Admitted
from warehouse.operate import keys as keys_operate
from warehouse.operate.settings import Settings


def security(settings: Settings) -> RequestStateSecurity:
    """Return the sealing that all processes of the deployment use, so that any of them accepts the answer.

    A process that was not given the key asks and answers by itself: the log and `pcds doctor` name it.
    """
    try:
        keys = keys_operate.every(settings)
    except Refused:
        keys = (secrets.token_bytes(32),)
    return RequestStateSecurity(keys=[*keys])


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
        return await kit.row(self._service, admitted.company_id, confirmations.GIVEN, asked) is not None
