"""What bytes are: whatever they are, an answer or a refusal, from a file in memory and from the object store alike."""

import io
import zipfile
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading.media import detect_media_type, ole_streams
from schemas.normalise import Unfit
from schemas.vocabularies import MEDIA_TYPES
from tests.drawing import examples
from tests.services.making import DOC, DOCX, JPEG, PDF, PNG, WEBP, XLS, XLSX, compound
from warehouse.operate.objects import Objects
from warehouse.operate.settings import Settings

SAMPLES = (PDF, PNG, JPEG, WEBP, DOC, DOCX, XLS, XLSX)
TAKEN = {kind.media_type for kind in MEDIA_TYPES}


def judged(data: bytes) -> str | None:
    try:
        return detect_media_type(io.BytesIO(data), None).media_type
    except Unfit:
        return None


@given(st.binary(max_size=2000) | st.sampled_from(SAMPLES).flatmap(lambda data: st.binary().map(data.__add__)))
def test_any_bytes_have_an_answer(data: bytes) -> None:
    assert judged(data) in {*TAKEN, None}


@examples(300)
@given(st.sampled_from(SAMPLES), st.data())
def test_damage_anywhere_has_an_answer(sample: bytes, data: st.DataObject) -> None:
    damaged = bytearray(sample)
    for place in data.draw(st.lists(st.integers(0, len(sample) - 1), max_size=20)):
        damaged[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(sample)))
    assert judged(bytes(damaged[:cut])) in {*TAKEN, None}


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_object_store_is_read_like_memory(sample: bytes, tmp_path: Path) -> None:
    objects, key = Objects.from_settings(Settings.load(data_dir=tmp_path)), f"{uuid4()}/files/a"
    for data in (sample, sample[: len(sample) // 2], sample + bytes(70_000)):
        objects.put(key, data)
        with objects.open(key) as file:
            try:
                found = detect_media_type(file, None).media_type
            except Unfit:
                found = None
        assert found == judged(data)


def test_a_directory_of_many_sectors_is_followed() -> None:
    names = {f"Stream {number}" for number in range(300)}
    assert names <= ole_streams(io.BytesIO(compound(*names)))


def test_a_directory_that_leads_back_to_itself_ends() -> None:
    looped = bytearray(compound("WordDocument"))
    looped[512 + 4 : 512 + 8] = (1).to_bytes(4, "little")  # what follows sector 1 is sector 1
    assert "WordDocument" in ole_streams(io.BytesIO(bytes(looped)))


def test_an_encrypted_document_is_none_of_the_kinds() -> None:
    assert judged(compound("EncryptionInfo", "EncryptedPackage")) is None


def test_what_unpacks_to_gigabytes_is_not_unpacked() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as package, package.open("[Content_Types].xml", "w") as part:
        for _ in range(64):
            part.write(b" " * 2**20)
        part.write(DOCX)
    assert judged(data.getvalue()) is None
