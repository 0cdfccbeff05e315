"""A stored file whose bytes are not those that were recorded is handed to nobody, and counted for the alert."""

import io
from uuid import uuid4

import pytest

from api.http import stored_files
from api.http.errors import Fault
from api.http.metrics import registry
from tests.api.test_hanging_store import CSV, imported
from warehouse.operate.objects import NoSuchObject


def counted(problem: str = "altered") -> float:
    return registry().get_sample_value("pcds_files_damaged_total", {"problem": problem})


def test_an_altered_file_is_a_fault_and_is_counted(caller) -> None:
    objects, first = caller.http.app.state.service.objects, imported(caller).json()["id"]
    key, before = f"{caller.company}/imports/{first}/upload", counted()
    assert caller.post(f"/imports/{first}/repeat", {}).status_code == 202
    objects.put(key, CSV.replace(b"Jar", b"Tin"))
    answer = caller.post(f"/imports/{first}/repeat", {})
    assert (answer.status_code, answer.json()["error"]) == (500, "internal_error")
    assert counted() == before + 1


@pytest.mark.parametrize("size", [0, 1, 65_536, 300_000])
def test_the_end_of_an_altered_file_is_kept_back(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    digest = stored_files.hashlib.sha256(data).hexdigest()
    assert b"".join(stored_files.chunks(io.BytesIO(data), "k", digest)) == data
    sent = []
    with pytest.raises(Fault):
        sent.extend(stored_files.chunks(io.BytesIO(data + b"!"), "k", digest))
    assert sum(map(len, sent)) <= size


def test_a_file_that_is_lost_is_counted_and_one_that_made_room_is_not(caller) -> None:
    objects, before = caller.http.app.state.service.objects, counted("missing")
    with pytest.raises(NoSuchObject):
        stored_files.read(objects, f"{caller.company}/files/{uuid4()}", "0" * 64)
    assert counted("missing") == before + 1
    with pytest.raises(NoSuchObject):
        stored_files.read(objects, f"{caller.company}/imports/{uuid4()}/upload", "0" * 64, may_be_gone=True)
    assert counted("missing") == before + 1
