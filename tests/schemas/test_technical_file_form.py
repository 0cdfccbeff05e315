"""What stands beside a technical file's bytes: whatever is sent is stored as published or refused by its field."""

import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.files import FIELDS, MAX_FILENAME, MAX_TEXT, name_as, own_name, parse_fields
from schemas.issues import ISSUE_CODES
from schemas.normalise import Unfit
from schemas.vocabularies import MEDIA_TYPES


@given(st.dictionaries(st.sampled_from([*FIELDS, "file", "size"]) | st.text(max_size=5), st.text(), max_size=8))
def test_every_field_is_stored_or_refused_by_name(sent):
    stored, issues = parse_fields(sent)
    assert set(stored) == set(FIELDS)
    assert {issue.code for issue in issues} <= set(ISSUE_CODES)
    assert {issue.field for issue in issues} >= set(sent) - set(FIELDS)
    for name in ("reference", "issuer"):
        assert stored[name] is None or (len(stored[name]) <= MAX_TEXT and "\x00" not in stored[name])


@given(st.dates(), st.dates())
def test_days_are_iso_and_in_order(first, last):
    stored, issues = parse_fields({"type": "test_report", "issued_on": str(first), "expires_on": str(last)})
    assert [stored["issued_on"], stored["expires_on"]] == [first, last]
    assert [issue.code for issue in issues] == (["out_of_range"] if last < first else [])
    assert isinstance(stored["issued_on"], date)


@given(st.text())
def test_a_name_has_no_folder_and_no_control_character(sent):
    try:
        name = own_name(sent)
    except Unfit:
        return
    assert 0 < len(name) <= MAX_FILENAME
    assert not {"/", "\\", "\x00", "\n"} & set(name)
    assert not [sign for sign in name if unicodedata.category(sign) in ("Cc", "Cf")]


@given(st.text(min_size=1, max_size=MAX_FILENAME), st.sampled_from(MEDIA_TYPES))
def test_a_name_ends_as_what_its_bytes_are_and_says_so_once(sent, kind):
    name = name_as(sent, kind)
    assert len(name) <= MAX_FILENAME
    assert name_as(name, kind) == name
    assert name.lower().endswith((kind.extension, ".jpeg", ".jpe", ".jfif"))


def test_a_name_that_is_shown_as_another_is_neither():
    pdf = next(kind for kind in MEDIA_TYPES if kind.extension == ".pdf")
    assert name_as(own_name("invoice\u202efdp.exe"), pdf) == "invoicefdp.exe.pdf"
    assert name_as("Report.PDF", pdf) == "Report.PDF"


@pytest.mark.parametrize(
    ("sent", "code"), [("a\x07.pdf", "invalid_format"), ("a/", "required"), ("n" * 256, "too_long")]
)
def test_a_name_that_is_refused_says_why(sent, code):
    with pytest.raises(Unfit) as refused:
        own_name(sent)
    assert refused.value.code == code


@pytest.mark.parametrize("sent", ["../../etc/passwd", "C:\\Users\\me\\passwd", "/a/ passwd "])
def test_folders_are_cut_off(sent):
    assert own_name(sent) == "passwd"
