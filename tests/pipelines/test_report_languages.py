"""A report is stored in English with templates and parameters beside it, and read in any language."""

from uuid import UUID

from api.http.answers import translated
from schemas.imports.types import PolledReport
from tests.pipelines.conftest import Desk
from warehouse.imports import queries

FILE = b"sku_code,name,weight_grams\nL-1,Bottle,about 12\nL-2,Tray,8\nL-2,Tray,8\nL-3,Cup,1\x01 stone\n"


def _polled(desk: Desk, import_id: UUID) -> PolledReport | None:
    with desk.pool.company(desk.company) as conn:
        return queries.status(conn, import_id, limit=50, offset=0, with_templates=True)


def test_a_report_is_read_in_every_language_and_one_from_before_in_english(desk: Desk) -> None:
    import_id = desk.send(FILE)
    assert desk.finish(import_id)
    english = [error["message"] for error in desk.poll(import_id)["errors"]]
    found = _polled(desk, import_id)
    assert found is not None
    templates = found.pop("templates")
    assert found == desk.poll(import_id)
    german = [error["message"] for error in translated(found, "de", templates)["errors"]]
    assert german == [
        "“about 12” ist keine Zahl; schreiben Sie nur Ziffern, etwa 12.5.",
        "Derselbe sku_code steht in Zeile 3, die zählt; geben Sie jedem SKU eine Zeile, oder einen anderen Code.",
        "“1␁ stone” hat eine Einheit, die sich nicht umrechnen lässt; schreiben Sie die Zahl in g.",
    ]
    french = [error["message"] for error in translated(found, "fr", templates)["errors"]]
    assert not set(french) & {*english, *german}
    desk.rows("UPDATE import_errors SET template = NULL WHERE company_id = %s RETURNING 1")
    found = _polled(desk, import_id)
    assert found is not None
    assert [error["message"] for error in translated(found, "fr", found.pop("templates"))["errors"]] == english
