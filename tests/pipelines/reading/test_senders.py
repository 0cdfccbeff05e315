"""The files of `senders/`: what a person reads in each is what the importer reads, without being told anything."""

from collections.abc import Callable

import pytest

from tests.pipelines.reading.senders import dutch, english, french, german, later, southern
from tests.pipelines.reading.senders.judged import judge
from tests.pipelines.reading.senders.sent import Sent
from tests.pipelines.reading.writing import delimited, read

FILES = [*french.FILES, *german.FILES, *english.FILES, *southern.FILES, *dutch.FILES, *later.FILES]
Build = Callable[[], Sent]


@pytest.mark.parametrize("build", FILES, ids=lambda build: f"{build.__module__.rsplit('.')[-1]}-{build.__name__}")
def test_a_file_is_read_as_a_person_reads_it(build: Build) -> None:
    assert judge(build()).differences == []


@pytest.mark.parametrize("build", [build for build in FILES if build().refused], ids=lambda build: build.__name__)
def test_a_file_that_only_its_sender_can_explain_is_read_with_a_mapping(build: Build) -> None:
    sent = build()
    judged = judge(sent, sent.mapping)
    assert (judged.differences, judged.columns_right) == ([], judged.columns)


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        (["SKU", "Description"], ["sku_code", "name"]),
        (["SKU", "Name", "Description"], ["sku_code", "name", "description"]),
        (["Supplier SKU", "Item name"], ["sku_code", "name"]),
        (["SKU", "Supplier SKU", "Item name"], ["sku_code", "name"]),
    ],
)
def test_a_key_without_a_column_is_read_from_what_stands_for_it(header: list[str], fields: list[str]) -> None:
    upload, _ = read(delimited([header, [f"cell {at}" for at in range(len(header))]]))
    assert [column["field"] for column in upload.source["columns"]] == fields
