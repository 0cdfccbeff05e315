"""A declaration's PDF, read back: PDF/A-3a, every font in it, nothing cut off, and no text in another order."""

import ctypes
import re
from datetime import UTC, date, datetime

import pypdfium2
import pypdfium2.raw as pdfium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance import conformity
from schemas.conformity import LONGEST, Issuing
from schemas.refusals import Refused
from schemas.texts import isolated
from services.conformity import drafts
from services.conformity.drafts import Draft, Point

SCRIPTS = [
    "Łódź, Đà Nẵng, İstanbul, Ș",
    "ΕΛΛΗΝΙΚΑ ΠΛΑΣΤΙΚΑ, ἄνθρωπος",
    "ООО «Упаковка», Ґ, Ѣ",
    "上海包装有限公司",
    "株式会社パッケージ",
    "주식회사 포장",
    "บริษัท บรรจุภัณฑ์ไทย",
]
KURINTO = ("", "SC", "JP", "KR", "TC")
WIDTH_POINTS, HEIGHT_POINTS, MARGIN_POINTS = 595.3, 841.9, 62.3


def drafted(*lines: str, notes: tuple[str, ...] = (), lang: str = "de") -> Draft:
    point = Point(4, "object", "Gegenstand der Erklärung", list(lines), True, "Annex VIII", list(notes))
    return Draft(lang, "EU-Konformitätserklärung", "", "DoC-1", [point], "", [], f"{datetime.now(UTC):%Y}")


def pages_of(made: bytes) -> list[pypdfium2.PdfPage]:
    return [*pypdfium2.PdfDocument(made)]


def text_of(made: bytes) -> str:
    return "\n".join(page.get_textpage().get_text_range() for page in pages_of(made))


def assert_within_margins(page: pypdfium2.PdfPage) -> None:
    """Each letter stands within the margins; a blank at the end of a line may hang over."""
    letters = page.get_textpage()
    for place in range(letters.count_chars()):
        left, bottom, right, top = letters.get_charbox(place)
        is_across = left >= MARGIN_POINTS - 2 and right <= WIDTH_POINTS - MARGIN_POINTS + 2
        if not (is_across and 0 <= bottom <= top <= HEIGHT_POINTS):
            assert not letters.get_text_range(place, 1).strip(), letters.get_text_range(place, 1)


def fonts_of(page: pypdfium2.PdfPage) -> dict[str, bool]:
    """Each font that the page's texts are set in, and whether the file has it."""
    found = {}
    for part in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_TEXT]):
        font = pdfium.FPDFTextObj_GetFont(part.raw)
        name = ctypes.create_string_buffer(200)
        pdfium.FPDFFont_GetBaseFontName(font, name, 200)
        found[name.value.decode()] = bool(pdfium.FPDFFont_GetIsEmbedded(font))
    return found


def tags_of(page: pypdfium2.PdfPage) -> set[str]:
    """The types of all elements of the page's structure."""
    tree, found = pdfium.FPDF_StructTree_GetForPage(page.raw), set()

    def walk(element: object) -> None:
        kind = ctypes.create_string_buffer(60)
        pdfium.FPDF_StructElement_GetType(element, kind, 60)
        found.add(kind.raw.decode("utf-16-le").partition("\0")[0])
        for place in range(pdfium.FPDF_StructElement_CountChildren(element)):
            if child := pdfium.FPDF_StructElement_GetChildAtIndex(element, place):
                walk(child)

    for place in range(pdfium.FPDF_StructTree_CountChildren(tree)):
        walk(pdfium.FPDF_StructTree_GetChildAtIndex(tree, place))
    return found


def test_the_file_claims_pdf_a_3a_and_is_tagged_in_its_language() -> None:
    made = drafts.pdf(drafted("Code: A-1"))
    assert re.findall(rb"<pdfaid:(part|conformance)>(\w+)<", made) == [(b"part", b"3"), (b"conformance", b"A")]
    document = pypdfium2.PdfDocument(made)
    assert pdfium.FPDFCatalog_IsTagged(document.raw)
    assert b"/Lang(de)" in made
    assert document.get_metadata_value("Title") == "EU-Konformitätserklärung DoC-1"
    assert {"H1", "H2", "P"} <= tags_of(document[0])


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_script_is_printed_with_fonts_that_are_in_the_file(text: str) -> None:
    made = drafts.pdf(drafted(f"Unternehmen: {text}"))
    [page] = pages_of(made)
    fonts = fonts_of(page)
    assert all(fonts.values()), fonts
    assert {name.partition("+")[2].partition("-")[0] for name in fonts} <= {f"KurintoSans{of}" for of in KURINTO}
    if text != SCRIPTS[-1]:  # the reader gives the marks of a Thai line twice
        assert text in text_of(made)


@pytest.mark.parametrize(
    "text",
    [
        "W" * 60,
        "W" * 255,
        "X" * 39 + " " + "W" * 39,
        "-".join(["ABCDEFGH"] * 20),
        "\u00a0".join(["WWWWWW"] * 20),
        "ก" * 300,
    ],
)
def test_what_fills_a_line_goes_on_in_the_next_one_without_another_character(text: str) -> None:
    made = drafts.pdf(drafted(f"Code: {text}", text, notes=(text,)))
    for page in pages_of(made):
        assert_within_margins(page)
    said = re.sub(r"\s", "", text_of(made).replace("\ufffe", "-"))
    assert said.count(re.sub(r"\s", "", text)) == 3


WORDS = st.text(st.sampled_from("WiÄß上ก -/.,"), min_size=1, max_size=200)


@settings(max_examples=5)
@given(lang=st.sampled_from(conformity.offered_languages()), words=st.lists(WORDS, min_size=4, max_size=4))
def test_no_text_of_a_declaration_runs_out_of_its_box(lang: str, words: list[str]) -> None:
    """Each fixed text of each language, with the longest names and addresses that the form takes, in draft and PDF."""
    texts = conformity.load_texts(lang)
    points = [
        Point(each.point, each.key, texts[f"point.{each.key}"], [*words, texts["to_complete"]], False, each.source)
        for each in conformity.points()
    ]
    missing = [point.title for point in points]
    draft = Draft(
        lang, texts["title"], texts["draft"], words[0], points, texts["missing"], missing, texts["drawn_from"]
    )
    draft.points[-2].notes.extend([*texts.values(), "W" * 255])
    by_point = {point.key: "\n".join(word.ljust(LONGEST["point"] // 4, "W") for word in words) for point in points}
    signed = [word.ljust(LONGEST["signatory"], "W") for word in words]
    form = Issuing(by_point, *signed, issued_on=date(2026, 11, 26), expires_on=None)
    for text in (draft, drafts.declaration(draft, form)):
        for page in pages_of(drafts.pdf(text)):
            assert_within_margins(page)


def test_right_to_left_text_does_not_move_what_stands_around_it() -> None:
    """The words of a Hebrew name with its sign of exclamation come first, the place and the number after them."""
    name = 'אריזות (2020) בע"מ!'
    assert isolated("Köln") == "Köln"
    made = drafts.pdf(drafted(f"Unternehmen: {isolated(name)}, 12 Köln"))
    [page] = pages_of(made)
    letters = page.get_textpage()
    places = {
        letter: letters.get_charbox(at)[0] for at, letter in enumerate(letters.get_text_range()) if letter in "א!ö"
    }
    assert places["!"] < places["א"] < places["ö"]
    assert isolated(f"{name}\u202e\u2069") == isolated(name), "no text ends the isolation by itself"


def test_a_line_without_a_font_is_refused_with_its_point_and_the_characters() -> None:
    with pytest.raises(Refused) as refused:
        drafts.pdf(drafted("Code: A-1", "Bezeichnung: Flasche 😀𓀀, 😀", "Bestandteile: \ue000"))
    first, second = refused.value.issues
    assert (first.field, second.field, first.code) == ("point.object", "point.object", "invalid_format")
    assert "😀 (U+1F600), 𓀀 (U+13000) in the line" in first.message
    assert "Bezeichnung: Flasche" in first.message
    assert "(U+E000)" in second.message
    assert drafts.unprintable("Flasche, 上海, บริษัท") is None
    many = drafts.unprintable("".join(map(chr, range(0x13000, 0x13400))) + " A")
    assert many is not None
    assert str(many).count("U+") == 5
