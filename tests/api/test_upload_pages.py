"""Sending a spreadsheet in the browser: what is shown before anything is stored, and what confirming it does."""

import re
from html import unescape
from pathlib import Path
from uuid import uuid4

import pytest

from api.pages.render import text as words
from tests.api.people import Browser, hidden, signed_in
from tests.api.portfolios import run
from tests.pipelines.reading.writing import workbook

EXAMPLE = Path(__file__).parents[2] / "examples" / "portfolio.xlsx"
FILE = (
    b"Artikelnummer;Bezeichnung;Verpackungsgewicht (g);Verpackungsmaterial;Notiz\n"
    b"A-1;Flasche;12,5;plastic;x\nA-2;Deckel;2,5;plastic;y\n"
)


def send(browser, data=FILE, *, filename="liste.csv", rows=None, lang="en", **fields):
    """What the form on Imports sends; where it leads, or its page with the faults."""
    form = hidden(browser.get(f"/imports?lang={lang}").text) | fields
    files = {"file": (filename, data, "text/csv")} if rows is None else {"file": ("", b"", "application/octet-stream")}
    return browser.post(f"/imports?lang={lang}", form | {"rows": rows or ""}, files=files)


def shown(caller, browser, answer):
    """The dry run that the form led to, run, as its page shows it: its address and the page's text."""
    assert answer.status_code == 303, answer.text
    address = answer.headers["Location"]
    run(caller, address.partition("?")[0].rpartition("/")[2])
    return address, unescape(browser.get(address).text)


def choices(page):
    """The field that each column's list shows as chosen, by the name of the list."""
    lists = re.findall(r'<select name="([^"]+)"(.*?)</select>', page, re.DOTALL)
    of_columns = [(name, body) for name, body in lists if name.startswith(("sku.", "component."))]
    return {name: (re.findall(r'<option value="([^"]*)" selected', body) or [""])[0] for name, body in of_columns}


def confirm(browser, address, page, step, **changed):
    path = address.partition("?")[0]
    fields = hidden(page) | choices(page) | {key.replace("_", "."): value for key, value in changed.items()}
    return browser.post(f"{path}/columns", fields | {"step": step})


def test_a_file_is_shown_before_anything_is_stored_and_then_imported(caller, browser):
    address, page = shown(caller, browser, send(browser))
    assert caller.get("/skus").json()["pagination"]["total"] == 0
    assert choices(page) == {
        "sku.A": "sku_code",
        "sku.B": "name",
        "sku.C": "weight_grams",
        "sku.D": "material",
        "sku.E": "",
    }
    for text in ("Flasche · Deckel", "12,5 · 2,5", "x · y"):
        assert text in page
    answer = confirm(browser, address, page, "import")
    assert answer.status_code == 303, answer.text
    run(caller, answer.headers["Location"].rpartition("/")[2])
    found = caller.get("/skus").json()["data"]
    assert {(sku["sku_code"], sku["name"], sku["weight_grams"]) for sku in found} == {
        ("A-1", "Flasche", 12.5),
        ("A-2", "Deckel", 2.5),
    }


def test_another_column_is_chosen_and_the_file_read_again(caller, browser):
    address, page = shown(caller, browser, send(browser))
    again = confirm(browser, address, page, "read", sku_B="", sku_E="name", sku_D="")
    address, page = shown(caller, browser, again)
    assert choices(page) == {"sku.A": "sku_code", "sku.B": "", "sku.C": "weight_grams", "sku.D": "", "sku.E": "name"}
    assert caller.get("/skus").json()["pagination"]["total"] == 0
    answer = confirm(browser, address, page, "import")
    run(caller, answer.headers["Location"].rpartition("/")[2])
    assert {sku["name"] for sku in caller.get("/skus").json()["data"]} == {"x", "y"}


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_columns_are_kept_under_a_name_and_chosen_for_the_next_file(caller, browser, join, pool, lang):
    address, page = shown(caller, browser, send(browser, lang=lang))
    path, sent = address.partition("?")[0], hidden(page) | choices(page) | {"sku.E": "description"}
    answer = browser.post(f"{path}/columns?lang={lang}", sent | {"step": "import", "mapping_name": " Lieferant A "})
    assert answer.status_code == 303, answer.text
    run(caller, answer.headers["Location"].partition("?")[0].rpartition("/")[2])
    form = browser.get(f"/imports?lang={lang}").text
    assert '<option value="Lieferant A">' in form
    _, page = shown(caller, browser, send(browser, lang=lang, mapping_name="Lieferant A"))
    assert choices(page)["sku.E"] == "description"
    assert choices(shown(caller, browser, send(browser, lang=lang))[1])["sku.E"] == "", "only where it is chosen"
    refused = send(browser, lang=lang, mapping_name="Lieferant B")
    assert refused.status_code == 400
    other = join()
    stranger = signed_in(other, pool)
    assert "Lieferant A" not in stranger.get("/imports").text


def test_a_column_that_may_be_the_products_is_asked_about_and_answered_there(caller, browser):
    address, page = shown(caller, browser, send(browser, b"Artikelnummer;Bezeichnung;Gewicht (g)\nA-1;Flasche;12\n"))
    assert choices(page)["sku.C"] == ""
    assert "may be the product’s or its packaging’s" in page
    assert "If it is the packaging’s, choose so" in page
    assert "mapping=" not in page
    answer = confirm(browser, address, page, "import", sku_C="weight_grams")
    run(caller, answer.headers["Location"].rpartition("/")[2])
    [sku] = caller.get("/skus").json()["data"]
    assert sku["weight_grams"] == 12


@pytest.mark.parametrize(
    ("lang", "named"),
    [
        ("en", ("1. Component: Shape", "2. Component: Weight", "Units placed: GB 2026, first half")),
        (
            "fr",
            ("1. Composant: Forme", "2. Composant: Poids", "Unités mises sur le marché : GB 2026, premier semestre"),
        ),
        ("de", ("1. Bauteil: Form", "2. Bauteil: Gewicht", "In Verkehr gebrachte Einheiten: GB 2026, erstes Halbjahr")),
    ],
)
def test_numbered_columns_are_in_the_readers_words(caller, browser, lang, named):
    headers = "code,name,packaging_1_shape,packaging_1_material,packaging_2_weight_g,annual_volume_gb_2026_h1"
    data = f"{headers}\nA,B,box,PET,2,7\n".encode()
    _, page = shown(caller, browser, send(browser, data, lang=lang))
    chosen = re.findall(r'<option value="(?:component|annual)_[^"]*" selected>([^<]+)<', page)
    assert set(named) <= set(chosen), chosen
    assert not [each for each in chosen if "_" in each]


def test_what_is_rejected_is_one_click_from_its_count(caller, browser):
    _, page = shown(caller, browser, send(browser, b"code,name\nA,\n"))
    assert '<a href="#report">Rejected</a>' in page
    _, page = shown(caller, browser, send(browser))
    assert '<a href="#report">Rejected</a>' not in page


def test_confirming_twice_imports_once(caller, browser):
    address, page = shown(caller, browser, send(browser))
    first, second = (confirm(browser, address, page, "import") for _ in range(2))
    assert first.headers["Location"] == second.headers["Location"]


def test_rows_are_pasted(caller, browser):
    _, page = shown(caller, browser, send(browser, rows="sku_code\tname\nP-1\tTray\n"))
    assert choices(page) == {"sku.A": "sku_code", "sku.B": "name"}


def test_rows_that_cannot_be_read_stay_in_the_form(browser):
    answer = send(browser, rows="sku_code\tname\t<2>\n")
    assert (answer.status_code, 'id="rows-error"' in answer.text) == (400, True)
    assert "sku_code\tname\t<2>" in unescape(answer.text.partition("<textarea")[2].partition("</textarea>")[0])


def test_pasted_rows_have_the_limit_of_a_file(caller, browser):
    """10 MiB are read; more stay in the form with the limit; far more are refused with the same sentence."""
    line, most = "P-{:06d}\t" + "Flasche " * 40 + "\r\n", 10 * 2**20
    text = "sku_code\tname\r\n" + "".join(line.format(at) for at in range(most // len(line.format(0)) - 1))
    full = text + f"Z-1\t{'x' * (most - len(text) - 6)}\r\n"
    assert len(full.encode()) == most
    answer = send(browser, rows=full)
    assert answer.status_code == 303, answer.text[-2000:]
    limit = "larger than 10 MB"
    over = send(browser, rows=full + "\r\n")
    assert (over.status_code, limit in over.text) == (413, True)
    assert over.text.count("Flasche ") == full.count("Flasche ")
    far = send(browser, rows=full * 2 + full)
    assert (far.status_code, limit in far.text) == (413, True)


def test_a_form_without_file_and_rows_says_what_to_do(browser):
    answer = send(browser, rows=" ", lang="de")
    assert (answer.status_code, "Wählen Sie eine Datei oder fügen Sie Zeilen ein." in answer.text) == (400, True)
    assert "pasted.csv" not in answer.text
    empty = send(browser, b"", filename="leer.csv")
    assert (empty.status_code, "leer.csv" in empty.text) == (400, True)


def test_the_example_workbook_is_read_with_both_its_sheets(caller, browser):
    address, page = shown(caller, browser, send(browser, EXAMPLE.read_bytes(), filename="portfolio.xlsx"))
    assert {name.partition(".")[0] for name in choices(page)} == {"sku", "component"}
    answer = confirm(browser, address, page, "import")
    run(caller, answer.headers["Location"].rpartition("/")[2])
    assert caller.get("/skus").json()["pagination"]["total"] > 0


@pytest.mark.parametrize(("lang", "data"), [("en", b""), ("de", b"\x00\x01\x02"), ("fr", b"sku_code;name\n")])
def test_what_cannot_be_read_is_said_at_the_form(browser, lang, data):
    answer = send(browser, data, lang=lang)
    assert answer.status_code == 400
    [fault] = re.findall(r'<div class="fault" role="alert">(.*?)</div>', answer.text, re.DOTALL)
    assert len(re.sub(r"<[^>]+>", "", fault).split()) > 3
    assert 'lang="' + lang in answer.text


def grade_of(caller, sku):
    return caller.get(f"/skus/{sku['id']}").json()["data"]["compliance"]["recyclability_grade"]


@pytest.mark.promise("IMP-62")
@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_a_dry_run_says_what_would_become_of_the_grades(caller, browser, lang):
    """By REST and on the page alike: new items, changed and unchanged ones, the changed ones linked."""
    facts = {"material": "plastic", "material_subtype": "PET", "packaging_format": "bottle", "weight_grams": 20}
    one, two = (caller.made(sku_code=code, name="Flasche", **facts) for code in ("G-1", "G-2"))
    rows = b"sku_code;name;material;material_subtype\nG-1;Flasche;plastic;PVC\nG-2;Flasche;plastic;PET\nG-3;Neu;;\n"
    address, page = shown(caller, browser, send(browser, rows, lang=lang))
    path = address.partition("?")[0]
    preview = caller.get(path).json()["preview"]
    after = preview["changed"][0]["after"]
    before = grade_of(caller, one)
    assert before != after
    changed = {"sku_id": one["id"], "sku_code": "G-1", "before": before, "after": after}
    assert preview["changed"] == [changed]
    told = {(each["before"], each["after"]): each["skus"] for each in preview["grades"]}
    assert told == {(None, "not_assessed"): 1, (before, after): 1, (before, before): 1}
    assert f"/items/{one['id']}?lang={lang}" in page
    assert f"/items/{two['id']}" not in page
    done = confirm(browser, address, page, "import").headers["Location"]
    run(caller, done.rpartition("/")[2])
    assert grade_of(caller, one) == after, "as it was foreseen"
    assert "preview" not in caller.get(done).json()


UNKNOWN = [["Bestand", "Stand 1"], ["Nr", "Was", "Wie schwer"], ["7001", "Dose", 31.5], ["7002", "Tube", 210]]
"""A table of which nobody but its owner knows the columns."""


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_person_says_what_unknown_columns_are(caller, browser, lang, form):
    text = "\n".join(";".join(map(str, row)) for row in UNKNOWN).encode()
    data = text if form == "csv" else workbook({"Bestand": UNKNOWN})
    answer = send(browser, data, filename=f"bestand.{form}", lang=lang)
    address = answer.headers["Location"]
    path = address.partition("?")[0]
    page = unescape(browser.get(address).text)
    assert f'lang="{lang}"' in page
    assert choices(page) == {"sku.A": "", "sku.B": "", "sku.C": ""}
    assert "7001 · 7002" in page
    assert "31.5 · 210" in page
    first = page.partition('<select name="sku.A"')[2].partition("</select>")[0]
    assert re.findall(r'<option value="([^"]*)"', first)[1:3] == ["sku_code", "name"]
    listed = unescape(browser.get(f"{path.rpartition('/')[0]}?lang={lang}").text)
    assert words("imports.state.columns", lang) in listed
    assert words("imports.state.failed", lang) not in listed

    def read(page, **chosen):
        sent = hidden(page) | choices(page) | {f"sku.{column}": field for column, field in chosen.items()}
        sent["sku.header_row"] = re.search(r'name="sku.header_row" value="(\d+)"', page)[1]
        again = browser.post(f"{path}/columns?lang={lang}", sent | {"step": "read"})
        assert again.status_code == 303, again.text
        return again

    page = unescape(browser.get(read(page, A="sku_code").headers["Location"]).text)
    assert choices(page) == {"sku.A": "sku_code", "sku.B": "", "sku.C": ""}, "what was chosen stays"
    address, page = shown(caller, browser, read(page, B="name", C="weight_grams"))
    assert choices(page) == {"sku.A": "sku_code", "sku.B": "name", "sku.C": "weight_grams"}
    done = confirm(browser, address, page, "import")
    run(caller, done.headers["Location"].rpartition("/")[2])
    found = {(sku["sku_code"], sku["name"], sku["weight_grams"]) for sku in caller.get("/skus").json()["data"]}
    assert found == {("7001", "Dose", 31.5), ("7002", "Tube", 210)}


def test_the_first_line_may_be_an_item_already(caller, browser):
    answer = send(browser, b"7001;Dose;31\n7002;Glas;210\n")
    address = answer.headers["Location"]
    chosen = {"sku.A": "sku_code", "sku.B": "name", "sku.header_row": "0"}
    again = browser.post(
        f"{address.partition(chr(63))[0]}/columns", hidden(browser.get(address).text) | chosen | {"step": "read"}
    )
    address, page = shown(caller, browser, again)
    run(caller, confirm(browser, address, page, "import").headers["Location"].rpartition("/")[2])
    assert {sku["sku_code"] for sku in caller.get("/skus").json()["data"]} == {"7001", "7002"}


def test_programs_are_refused_as_ever_where_no_column_is_known(caller):
    answer = caller.request("POST", "/imports", files={"file": ("a.csv", b"Nr;Was\n1;Dose\n", "text/csv")})
    assert answer.status_code == 400
    assert {issue["code"] for issue in answer.json()["details"]} == {"missing_column"}
    assert caller.get("/imports").json()["data"] == []


def test_a_file_that_is_too_large_is_refused(browser):
    answer = send(browser, b"a" * (10 * 2**20 + 1))
    assert answer.status_code == 413
    assert 'role="alert"' in answer.text


def test_a_form_of_another_page_is_refused(browser, caller):
    assert send(browser, csrf="x").status_code == 403
    form = hidden(browser.get("/imports").text)
    files = {"file": ("a.csv", FILE, "text/csv")}
    other = browser.post("/imports", form, files=files, headers={"Sec-Fetch-Site": "cross-site"})
    assert other.status_code == 403
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_another_companys_import_is_not_there(caller, browser, join, pool):
    address, _ = shown(caller, browser, send(browser))
    stranger = join()
    other = signed_in(stranger, pool)
    fields = hidden(other.get("/imports").text) | {"step": "import"}
    assert other.post(f"{address.partition('?')[0]}/columns", fields).status_code == 404
    assert other.post(f"/imports/{uuid4()}/columns", fields).status_code == 404
    assert other.post("/imports/x/columns", fields).status_code == 404


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_the_template_lies_beside_the_form(browser, lang):
    answer = browser.get(f"/imports/template.xlsx?lang={lang}")
    assert answer.status_code == 200
    assert answer.content.startswith(b"PK")
    assert f"/imports/template.xlsx?lang={lang}" in unescape(browser.get(f"/imports?lang={lang}").text)


def test_who_is_not_signed_in_sends_nothing(caller):
    visitor = Browser(caller.http, caller.address)
    answer = visitor.post("/imports", {}, files={"file": ("a.csv", FILE, "text/csv")})
    assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (303, "/sign-in")


def test_very_many_columns_that_are_not_read_are_folded_and_can_be_chosen(caller, browser):
    strange = [f"zyx{number}" for number in range(30)]
    file = ";".join(["sku_code", "name", *strange]) + "\n" + ";".join(["A", "a", *map(str, range(30))]) + "\n"
    _, page = shown(caller, browser, send(browser, file.encode()))
    table, _, folded = page.partition('<form method="post"')[2].partition("<details>")
    assert set(choices(table)) == {"sku.A", "sku.B"}
    assert set(choices(folded.partition("</form>")[0])) == set(choices(page)) - set(choices(table))
    assert len(choices(page)) == 32
    few = file.replace(";".join(strange[:15]), ";" * 14).encode()
    _, page = shown(caller, browser, send(browser, few))
    assert "<details>" not in page.partition('<form method="post"')[2].partition("</form>")[0]


def test_a_person_chooses_whether_archived_items_of_the_file_come_back(caller, browser):
    gone = caller.made(sku_code="GONE")["id"]
    assert caller.post(f"/skus/{gone}/archive", {}).status_code == 200
    file = b"sku_code,name\nGONE,Jar\nNEW,Lid\n"
    address, page = shown(caller, browser, send(browser, file, archived="keep"))
    assert 'name="archived"' in page
    import_id = address.partition("?")[0].rpartition("/")[2]
    assert caller.get(f"/imports/{import_id}").json()["counts"]["rejected"] == 1
    for choice, rejected in (("", 1), ("return", 0)):
        again, _ = shown(caller, browser, confirm(browser, address, page, "import", archived=choice))
        report = caller.get(f"/imports/{again.partition('?')[0].rpartition('/')[2]}").json()
        assert report["counts"]["rejected"] == rejected
        page = browser.get(address).text
    assert report["warning_counts"] == {"returned_from_archive": 1}


@pytest.mark.parametrize("dry_run", [0, 1])
@pytest.mark.parametrize("lang", ["en", "de", "fr"])
def test_a_file_that_is_not_read_yet_has_no_counts(caller, browser, lang, dry_run):
    answer = caller.post("/imports", content=FILE, params={"filename": "liste.csv", "dry_run": dry_run})
    address = f"/imports/{answer.json()['id']}?lang={lang}"
    page = unescape(browser.get(address).text)
    assert words("imports.not_read.queued", lang) in page
    for key in ("imports.no_faults", "imports.dry_run_note", "imports.would", "imports.counts"):
        assert words(key, lang) not in page
    assert (words("imports.dry_run_begun", lang) in page) == bool(dry_run)
    for listed in (browser.get(f"/imports?lang={lang}").text, browser.get(f"/?lang={lang}").text):
        row = re.search(rf'<tr><th scope="row"><a href="{re.escape(address)}".*?</tr>', unescape(listed), re.DOTALL)
        if row:
            assert re.findall(r'class="number"[^>]*>([^<]*)<', row[0]) == ["–"] * 4
    run(caller, answer.json()["id"])
    page = unescape(browser.get(address).text)
    assert words("imports.no_faults", lang) in page
    assert (words("imports.dry_run_note", lang) in page) == bool(dry_run)


def test_the_page_lists_the_warnings_of_an_import(caller, browser):
    text = b"sku_code,name,material_subtype\nA-1,Jar,PTE\nA-2,Jar,PP\n"
    answer = caller.post("/imports", content=text, params={"filename": "liste.csv"})
    run(caller, answer.json()["id"])
    found = caller.get(f"/imports/{answer.json()['id']}").json()
    assert found["warning_counts"] == {"polymer_unresolved": 1}
    german = caller.get(f"/imports/{answer.json()['id']}", headers={"Accept-Language": "de"}).json()
    assert german["warnings"][0]["message"].startswith("Das Material ist nicht bekannt")
    page = unescape(browser.get(f"/imports/{answer.json()['id']}?lang=de").text)
    assert "Warnungen" in page
    assert german["warnings"][0]["message"] in page


def test_a_file_of_codes_and_units_alone_imports_and_a_code_that_is_not_held_needs_a_name(caller, browser):
    caller.post("/skus", {"sku_code": "A-1", "name": "Flasche"})
    data = b"Artikelnummer;Absatz DE 2026;Units FR 2025\nA-1;1200;40\nA-9;5;6\n"
    address, page = shown(caller, browser, send(browser, data))
    assert choices(page) == {
        "sku.A": "sku_code",
        "sku.B": "annual_volume_de_2026",
        "sku.C": "annual_volume_fr_2025",
    }
    assert "A-9" in page
    _, page = shown(caller, browser, confirm(browser, address, page, "import"))
    [sku] = caller.get("/skus").json()["data"]
    assert sku["name"] == "Flasche"
    volumes = caller.get(f"/skus/{sku['id']}").json()["data"]["volumes"]
    assert {(row["market"], row["year"], row["half"], row["units_placed"]) for row in volumes} == {
        ("DE", 2026, 0, 1200),
        ("FR", 2025, 0, 40),
    }


def test_any_column_can_be_the_units_of_a_market(caller, browser):
    data = b"Artikelnummer;Bezeichnung;Gewicht (g);Spalte X\nA-1;Flasche;12,5;900\n"
    address, page = shown(caller, browser, send(browser, data))
    chosen = {"market_sku_D": "Deutschland", "year_sku_D": "2025"}
    unknown = confirm(browser, address, page, "read", market_sku_D="Atlantis")
    assert unknown.status_code == 400
    assert "Atlantis" in unescape(unknown.text)
    address, page = shown(caller, browser, confirm(browser, address, page, "read", **chosen))
    assert choices(page)["sku.D"] == "annual_volume_de_2025"


def test_numbers_of_two_readings_are_settled_once_for_all(caller, browser):
    data = b'sku_code,name,Packaging weight (g)\nA,Box,2\nB,Box,"1,234"\n'
    address, page = shown(caller, browser, send(browser, data))
    assert 'name="decimal"' in page
    address, page = shown(caller, browser, confirm(browser, address, page, "read", decimal=","))
    assert 'name="decimal"' not in page
    shown(caller, browser, confirm(browser, address, page, "import"))
    [sku] = [sku for sku in caller.get("/skus?limit=200").json()["data"] if sku["sku_code"] == "B"]
    assert sku["weight_grams"] == 1.234
