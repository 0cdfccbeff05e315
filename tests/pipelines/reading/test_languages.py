"""A typical table of a packaging team in each further language of the market: its columns are read, totals left out."""

import pytest

from pipelines.reading.columns import recognise
from schemas.words import fold
from tests.pipelines.reading.writing import delimited, read, values

LANGUAGES = {
    "Hungarian": ("Cikkszám;Termék megnevezése;Csomagolás anyaga;Csomagolás tömege (g);Csomagolási szint;Ország",
                  "üveg;245;elsődleges;Magyarország", "Összesen", "HU"),
    "Finnish": ("Tuotenumero;Tuotteen nimi;Pakkausmateriaali;Pakkauksen paino g;Pakkaustaso;Myyntimaa",
                "lasi;245;kuluttajapakkaus;Suomi", "Yhteensä", "FI"),
    "Romanian": ("Cod produs;Denumire produs;Material ambalaj;Greutate ambalaj (g);Nivel ambalaj;Țara de vânzare",
                 "sticlă;245;primar;România", "Total general", "RO"),
    "Greek": ("Κωδικός προϊόντος;Ονομασία προϊόντος;Υλικό συσκευασίας;Βάρος συσκευασίας (γρ);Επίπεδο συσκευασίας;Χώρα",
              "Γυαλί;245;Πρωτογενής;Ελλάδα", "Σύνολο", "GR"),
    "Turkish": ("Ürün Kodu;Ürün Adı;Ambalaj Malzemesi;Ambalaj Ağırlığı (gr);Ambalaj Seviyesi;Ülke",
                "Cam;245;birincil;Almanya", "TOPLAM", "DE"),
    "Danish": ("Varenr.;Varebeskrivelse;Emballagemateriale;Emballagevægt (g);Emballageniveau;Salgsland",
               "Glas;245;primær;Danmark", "I alt", "DK"),
    "Norwegian": ("Varenummer;Varenavn;Emballasjemateriale;Emballasjevekt (g);Emballasjenivå;Salgsland",
                  "Glass;245;forbrukerpakning;Norge", "Sum totalt", "NO"),
    "Slovak": ("Kód výrobku;Názov výrobku;Materiál obalu;Hmotnosť obalu (g);Úroveň obalu;Krajina",
               "sklo;245;primárny;Slovensko", "Spolu", "SK"),
    "Bulgarian": ("Артикулен номер;Име;Материал на опаковката;Тегло на опаковката (г);Ниво на опаковката;Държава",
                  "Стъкло;245;първична;България", "Общо", "BG"),
    "Croatian": ("Šifra artikla;Naziv artikla;Materijal ambalaže;Masa ambalaže (g);Razina ambalaže;Država",
                 "staklo;245;primarna;Hrvatska", "Ukupno", "HR"),
    "Slovenian": ("Šifra izdelka;Naziv izdelka;Material embalaže;Masa embalaže (g);Raven embalaže;Država",
                  "steklo;245;primarna;Slovenija", "Skupaj", "SI"),
    "Lithuanian": ("Prekės kodas;Prekės pavadinimas;Pakuotės medžiaga;Pakuotės svoris (g);Pakuotės lygis;Šalis",
                   "stiklas;245;pirminė;Lietuva", "Iš viso", "LT"),
    "Latvian": ("Preces kods;Preces nosaukums;Iepakojuma materiāls;Iepakojuma svars (g);Iepakojuma līmenis;Valsts",
                "stikls;245;primārais;Latvija", "Kopā", "LV"),
    "Estonian": ("Tootekood;Toote nimetus;Pakendi materjal;Pakendi kaal (g);Pakendi tase;Riik",
                 "klaas;245;esmane;Eesti", "Kokku", "EE"),
}  # fmt: skip
UNITS = {
    "Hungarian": "Eladott mennyiség HU 2025",
    "Finnish": "Myyty määrä FI 2025",
    "Romanian": "Bucăți vândute RO 2025",
    "Greek": "Πωληθέντα τεμάχια GR 2025",
    "Turkish": "Satış adedi DE 2025",
    "Danish": "Solgt mængde DK 2025",
    "Norwegian": "Solgte enheter NO 2025",
    "Slovak": "Predané kusy SK 2025",
    "Bulgarian": "Продадено количество BG 2025",
    "Croatian": "Prodaja HR 2025",
    "Slovenian": "Prodana količina SI 2025",
    "Lithuanian": "Parduotas kiekis LT 2025",
    "Latvian": "Pārdotais daudzums LV 2025",
    "Estonian": "Müüdud kogus EE 2025",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_table_of_a_packaging_team_is_read(language: str) -> None:
    header, cells, total, market = LANGUAGES[language]
    rows_of = [[code, "n", *cells.split(";")] for code in ("1-A", "2-A")]
    lines = [header.split(";"), *rows_of, [total, "", "", "490", "", ""]]
    upload, rows = read(delimited(lines, ";"))
    assert (rows.errors.height, upload.source["ignored"], upload.source["asked"]) == (0, [], [])
    row, _ = values(delimited(lines, ";"))
    assert row["material"] == "glass"
    assert (row["weight_grams"], row["packaging_level"], row["markets"]) == (245, "sales", f"{{{market}}}")
    assert [entry["line"] for entry in upload.source["skipped"]] == [4]


@pytest.mark.parametrize("language", UNITS)
def test_units_sold_on_a_market_in_a_year_are_read(language: str) -> None:
    column = recognise(UNITS[language], 0, "sku")
    assert column is not None
    assert (column.field.name, column.year, column.market) == ("annual_volume", 2025, UNITS[language].split()[-2])


@pytest.mark.parametrize(("one", "other"), [("ΒΆΡΟΣ", "βάρος"), ("ТЕГЛО", "тегло"), ("Опаковкий", "опаковкии")])
def test_words_of_other_scripts_are_compared_without_case_and_accents(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_an_unknown_word_of_a_part_below_a_known_header_is_asked_about() -> None:
    lines = [["Код", "Наименование", "Компонент", "Материал", "Тегло (г)"]]
    lines += [["1", "Шампоан", "бутилка", "PET", "21"], ["1", "Шампоан", "капачка", "PP", "3"]]
    upload, _ = read(delimited(lines, ";"))
    assert [about["could_be"] for about in upload.source["asked"]] == [["component_type"]]
    assert values(delimited(lines, ";"))[0].get("components") is None
