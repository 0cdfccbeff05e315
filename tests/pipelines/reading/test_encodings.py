"""Texts that are not UTF-8: right or refused with the choice, never with a wrong letter (decisions §13, `encoding`)."""

import random

import pytest
from babel import Locale

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.text import decode
from tests.pipelines.reading.writing import read
from tools.bigrams import pairs_of

CENTRAL = ("cp1250", "iso8859_2", "cp852")
ENCODINGS = {
    **dict.fromkeys(("cs", "hr", "hu", "pl", "ro", "sk", "sl"), CENTRAL),
    **dict.fromkeys(("da", "de", "es", "fi", "fr", "ga", "it", "mt", "nl", "pt", "sv"), ("cp1252",)),
    "bg": ("cp1251", "cp866"),
    "el": ("cp1253", "iso8859_7"),
    "ru": ("cp1251", "cp866", "koi8_r"),
    "uk": ("cp1251", "cp866"),
    "tr": ("cp1254",),
    "et": ("cp1257", "cp1252"),
    "lt": ("cp1257",),
    "lv": ("cp1257",),
}
"""Languages that are written with letters beyond ASCII, those of the EU among them, with their encodings."""
WORDS = {
    "pl": "Pudełko na świąteczną kawę|Słoik z żółtą nakrętką",
    "cs": "Krabička na čaj s příchutí|Skleněná láhev",
    "sk": "Fľaša na víno|Škatuľa s vôňou",
    "hu": "Díszdoboz kávéhoz|Üvegpalack gyümölcslé",
    "sl": "Škatla za čaj|Steklenička z žlico",
    "hr": "Kutija za čaj s žlicom|Staklenka s kockicama šećera",
    "ro": "Cutie pentru cafeţea|Sticlă cu dop şi etichetă",
    "bg": "Бурканче за мед|Кутия за чай",
    "el": "Κουτί για τσάι|Γυάλινο βάζο",
    "tr": "Çay kutusu ışıltılı|Şişe yeşil dağ",
    "lt": "Dėžutė arbatai|Stiklainis medaus su šaukštu, žalias",
    "lv": "Kārba tējai|Stikla burka ar vāciņu",
    "et": "Klaaspurk mõdu jaoks|Õlipudel, kõrge",
    "de": "Glasflasche grün|Faltschachtel für Tee, weiß",
    "fr": "Bouteille en verre dépoli|Étui carton à thé",
    "es": "Botella de plástico pequeña|Cartón de leche según diseño",
    "pt": "Caixa de papelão para café|Garrafa plástica com proteção",
    "it": "Scatola per caffè di qualità|Bottiglia più tappo",
    "da": "Æske til te, rød|Syltetøjsglas på låg",
    "sv": "Glasflaska grön|Påse för kött",
    "fi": "Lasipullo, vihreä käsintehty|Säilyketölkki",
    "nl": "Geïsoleerde beker België|Crème in één pot",
}


def table(names: list[str], encoding: str) -> bytes:
    lines = [f"A-{number};{name}" for number, name in enumerate(names)]
    return "\n".join(["sku_code;name", *lines, ""]).encode(encoding)


def decoded(data: bytes) -> str | None:
    """The text, or None where the file is refused with the choice."""
    try:
        return decode(data).text
    except ReadingRefused as refused:
        [issue] = refused.issues
        assert issue.answer == {"encoding": issue.could_be[0]}
        assert len(set(issue.could_be)) == len(issue.could_be) >= 2
        return None


@pytest.mark.parametrize("language", WORDS)
def test_two_names_of_packaging_are_right_or_refused(language: str) -> None:
    names = WORDS[language].split("|")
    for encoding in ENCODINGS[language]:
        data = table(names, encoding)
        assert decoded(data) in (data.decode(encoding), None)
        assert decode(data, encoding).text == data.decode(encoding)


@pytest.mark.parametrize("language", ENCODINGS)
def test_no_letter_of_a_list_of_names_is_wrong(language: str) -> None:
    locale, chance = Locale.parse(language), random.Random(language)
    texts = [*locale.territories.values(), *locale.languages.values(), *locale.currencies.values()]
    refusals = 0
    for encoding in ENCODINGS[language]:
        known = [text for text in texts if not text.isascii() and text.encode(encoding, "replace").find(b"?") < 0]
        for _ in range(5):
            data = table(chance.sample(sorted(set(known)), min(8, len(set(known)))), encoding)
            text = decoded(data)
            assert text in (data.decode(encoding), None)
            refusals += text is None
    assert refusals <= 2 * len(ENCODINGS[language])


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("cp932", ["ガラスの瓶", "プラスチックの蓋", "ジャム用の瓶"]),
        ("gb18030", ["玻璃瓶装蜂蜜", "塑料盖子和标签", "茶叶包装盒"]),
        ("cp949", ["꿀이 담긴 유리병", "플라스틱 뚜껑", "차 상자"]),
    ],
)
def test_texts_of_east_asia_are_right_or_refused(encoding: str, names: list[str]) -> None:
    data = table(names, encoding)
    assert decoded(data) in (data.decode(encoding), None)


def test_a_refused_file_says_what_it_reads_as_and_is_read_with_the_answer() -> None:
    data = table(["Fľaša"], "cp1250")
    with pytest.raises(ReadingRefused) as refused:
        read(data)
    [issue] = refused.value.issues
    assert (issue.kind, issue.field) == ("encoding", "mapping")
    assert {"cp1250", "cp1252"} <= set(issue.could_be)
    assert "Fľaša" in str(issue.message)
    assert "Save it as UTF-8" in str(issue.message)
    upload, typed = read(data, mapping={"encoding": "windows-1250"})
    assert typed.values["name"].to_list() == ["Fľaša"]
    assert upload.source["encoding"] == "cp1250"


@pytest.mark.parametrize("name", ["klingon", "hex", "rot13", "", "zip", "\x00"])
def test_a_name_that_is_no_encoding_is_refused(name: str) -> None:
    with pytest.raises(ReadingRefused) as refused:
        read(b"sku_code;name\nA;Jar\n", mapping={"encoding": name})
    assert [issue.code for issue in refused.value.issues] == ["invalid_mapping"]


def test_the_table_of_pairs_says_how_often_each_is_among_all() -> None:
    """A third of the pairs of `ab` is each of its own: 1/3 is two steps of e^0.5; what is much rarer is left out."""
    assert pairs_of({"ab": 1.0}) == "_acabcb_c"
    assert pairs_of({"ab": 1.0, "xș": 0.5e-5}) == "_acabcb_c"
    assert "_ş" in pairs_of({"ș": 1.0})
