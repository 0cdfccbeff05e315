"""Answers POSTs of one caller that go together: one transaction, and each answered as if it had come alone.

See decision 0112. `api.http.together` decides which go together, and when.
"""

from collections.abc import Collection, Mapping, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api.http.service import service_of
from api.http.together import caught
from api.http.writing import Received, Write, admitted_each, answer_each, fingerprint_for
from api.skus.writing import accepted, answer_one, write_answer
from schemas.skus.inputs import SkuInput, parse_sku
from schemas.skus.types import SkuPatch
from services.skus.write import WriteOutcome, write_records
from warehouse.operate.sessions import Connection


async def answer_post(received: Received) -> Response:
    """Return the answer to a POST without parameters and with a small body, done with others of its caller."""
    caller = (received.credential, "idempotency-key" in received.request.headers)
    answer: Response | Write = await service_of(received.request).together.join(caller, received, _answers)
    return await run_in_threadpool(answer_one, answer, received.body) if isinstance(answer, Write) else answer


def _answers(received: Sequence[Received]) -> Sequence[Response | Write | Exception]:
    """Return the answer to each, what refuses it, or the admitted write of one that is to be done by itself."""
    admitted = admitted_each(received)
    writes = {place: write for place, write in enumerate(admitted) if isinstance(write, Write)}
    if len(received) == 1:
        done = {place: caught(answer_one, write, received[place].body) for place, write in writes.items()}
    else:
        done = _answers_together(writes, received)
    return [done.get(place, write) for place, write in enumerate(admitted)]


def _answers_together(writes: Mapping[int, Write], received: Sequence[Received]) -> dict[int, Response | Exception]:
    """Return the answers that one transaction could give. Of those with one code it has the first alone."""
    parsed = {place: caught(parse_sku, received[place].body, SkuInput) for place in writes}
    if sum(not isinstance(record, Exception) for record in parsed.values()) < 2:
        return {}

    def write_each(conn: Connection, places: Collection[int]) -> Mapping[int, WriteOutcome | Exception]:
        done: dict[int, WriteOutcome | Exception] = {}
        records: dict[str, tuple[int, SkuPatch]] = {}
        for place in places:
            record = parsed[place]
            if isinstance(record, Exception):
                done[place] = record
            else:
                records.setdefault(record["sku_code"], (place, record))
        if records:
            write, origins = writes[min(writes)], {place: each.actor.origin for place, each in writes.items()}
            rows = write_records(
                conn,
                write.actor,
                dict(records.values()),
                rulesets=write.service.rulesets,
                dry_run=False,
                origins=origins,
            )
            done |= {place: caught(accepted, row) for place, row in rows.items()}
        return done

    meanings = {place: (write, fingerprint_for(received[place].body, None)) for place, write in writes.items()}
    return answer_each(meanings, write_each, lambda write, row: write_answer(row, lang=write.actor.lang, dry_run=False))
