"""Records the examples of the document: a day of an ERP system against the demo company, stored answer by answer.

    python -m tools.record_examples

Each operation has a file in `api/openapi/examples/`: the body that was sent, the answers by status, and a dry run's
answer where it has a field more. Run it when an answer has gained a field; a test checks the files against the schemas.
Only the packaging is invented. An operation that this day does not call is called once at its end: with the `body` of
its file, which is written by hand then, and with the id of the record of its kind that was last made or asked for.
"""

import json
import re
import time
from typing import Any, Final

import httpx2

from api.operate.prepare import OF_EXAMPLES
from tools.service import ROOT, Service, running

KEPT: Final = ROOT / "api" / "openapi" / "examples"
_PNG: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da6364f80f00010501012718e3660000"
    "000049454e44ae426082"
)
_CSV: Final = "sku_code,name,material,weight_grams\nJAR-25,Jam jar 250 ml,glass,165.5\n,Nameless,glass,10\n"
_MATERIALS: Final = "sku_code,name,material\nJAR-25,Jam jar 250 ml,other\nJAR-50,Jam jar 500 ml,glass\n"
_SECRET: Final = "sat_" + "x" * 43
_POLLS: Final = 300
_RECORD: Final = re.compile(r"/api/v1/(?P<kind>[\w-]+)/(?P<id>[0-9a-f-]{36})(?:[/?]|$)")


class _Recorder:
    def __init__(self, service: Service) -> None:
        self._http = httpx2.Client(base_url=service.address, headers={"X-API-Key": service.key}, timeout=30)
        self._kept: dict[str, dict[str, Any]] = {}
        self._records: dict[str, str] = {}
        """The id of the record of each kind, as paths name it, that was last made or asked for."""

    def call(
        self, operation: str, method: str, path: str, *, shown: Any = None, under: str = "answers", **more: Any
    ) -> Any:
        """Send a request and record it; `shown` is recorded in place of a body that is no JSON."""
        answer = self._http.request(method, path, **more)
        assert answer.is_success, f"{operation}: {answer.text}"
        if addressed := _RECORD.match(path):
            self._records[addressed["kind"]] = addressed["id"]
        elif isinstance(record := answer.json().get("data"), dict) and record.get("id"):
            self._records[path.removeprefix("/api/v1/")] = record["id"]
        body = more.get("json", shown)
        kept = self._kept.setdefault(operation, {"answers": {}})
        if body is not None:
            kept.setdefault("body", body)
        kept.setdefault(under, {}).setdefault(str(answer.status_code), answer.json())
        return answer.json()

    def polled(self, operation: str, path: str, *, under: str = "answers") -> None:
        """Record the answer of an import or an export that has ended."""
        for _ in range(_POLLS):
            answer = self._http.get(path).json()
            if answer.get("data", answer)["status"] in ("completed", "failed"):
                break
            time.sleep(0.1)
        self.call(operation, "GET", path, under=under)

    def hide(self, operation: str, field: str, text: str) -> None:
        """Put a text in place of a secret."""
        for answer in self._kept[operation]["answers"].values():
            answer[field] = text

    def hide_links(self, operation: str) -> None:
        """Put other texts in the place of the tokens in links to enquiries."""
        answers = json.dumps(self._kept[operation]["answers"])
        self._kept[operation]["answers"] = json.loads(
            re.sub(r"(/supplier-enquiries/)[\w-]{43}", r"\1" + "x" * 43, answers)
        )

    def shorten(self, operation: str, *fields: str) -> None:
        """Keep only these fields of a long answer."""
        answers = self._kept[operation]["answers"]
        for status, answer in answers.items():
            answers[status] = {field: answer[field] for field in fields}

    def call_the_others(self) -> None:
        """Record the operations that nobody called and that answer with JSON."""
        for path, methods in self._http.get("/api/v1/openapi.json").json()["paths"].items():
            for method, described in methods.items():
                name, answers = described["operationId"], described["responses"]
                best = min(status for status in answers if status.startswith("2"))
                if name in self._kept or "application/json" not in answers[best].get("content", {}):
                    continue
                kind = path.removeprefix("/api/v1/").partition("/")[0]
                where = path.replace("{id}", self._records.get(kind, ""))
                body = {}
                if "requestBody" in described:
                    body = {"json": json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))["body"]}
                self.call(name, method.upper(), where, **body)

    def write(self) -> None:
        """Write one file an operation."""
        for operation, kept in self._kept.items():
            text = json.dumps(kept, indent=1, ensure_ascii=False)
            (KEPT / f"{operation}.json").write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    """Record every operation."""
    with running("--base-url", "https://pcds.example", demo=True) as service:
        recorder = _Recorder(service)
        sku = _skus(recorder, service)
        _evidence(recorder, sku)
        _declarations(recorder, sku)
        _supplier(recorder, service)
        _enquiry(recorder)
        _webhooks(recorder)
        _figures(recorder, service)
        _lists(recorder)
        _exports(recorder)
        _library(recorder)
        _service_itself(recorder, service)
        recorder.call_the_others()
        recorder.write()


def _skus(recorder: _Recorder, service: Service) -> str:
    company = ("--company", service.company_id)
    of_examples = {record["kind"]: str(record_id) for record_id, record in OF_EXAMPLES.items()}
    line = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 12.8}
    bottle = {
        "sku_code": "WTR-50",
        "name": "Water bottle 50 cl",
        "material": "plastic",
        "recycled_content_percent": 30,
        "food_contact": True,
        "markets": ["FR", "ES-CT"],
        "gtin": "4006381333931",
        "packaging_level": "sales",
        "packaging_format": "bottle",
        "brand_id": of_examples["brand"],
        "manufacturing_site_id": of_examples["site"],
        "substances": {"pfas": {"status": "absent", "source": "supplier_attestation"}},
        "components": [
            {**line, "colour": "transparent"},
            {"component_type": "cap", "component_id": of_examples["library_component"]},
            {
                "component_type": "label",
                "material_family": "plastic",
                "polymer_or_grade": "PP",
                "weight_g": 0.7,
                "coverage_percent": 35,
                "adhesive_type": "washable",
            },
        ],
    }
    made: str = recorder.call("post_sku", "POST", "/api/v1/skus", json=bottle)["data"]["id"]
    recorder.call("post_sku", "POST", "/api/v1/skus", json=bottle | {"recycled_content_percent": 50})
    recorder.call(
        "put_sku",
        "PUT",
        f"/api/v1/skus/{made}",
        json={"sku_code": "WTR-50", "name": "Water bottle 50 cl", "recycled_content_percent": 35},
    )
    asked = {"sku_code": "WTR-50", "name": "Water bottle 50 cl", "components": [{**line, "colour": "carbon_black"}]}
    recorder.call("post_what_if", "POST", "/api/v1/skus/what-if", json=asked | {"sku_code": "WTR-75"})
    recorder.call("post_sku_what_if", "POST", f"/api/v1/skus/{made}/what-if", json=asked)
    recorder.call(
        "post_batch",
        "POST",
        "/api/v1/skus/batch",
        json={
            "skus": [
                {"sku_code": "CAN-33", "name": "Can 33 cl", "material": "metal", "weight_grams": 13.1},
                {"sku_code": "CAN-50", "name": "Can 50 cl", "gtin": "4006381333932"},
            ],
            "dry_run": False,
        },
    )
    roles = {"mark": "own", "specified_by": "own", "made_by": "other", "packed_by": "own", "supplier_country": "FR"}
    recorder.call("put_roles", "PUT", "/api/v1/roles", json=roles)
    recorder.call("put_sku_roles", "PUT", f"/api/v1/skus/{made}/roles", json={"kind": "products", "mark": "none"})
    recorder.call("get_roles", "GET", "/api/v1/roles")
    recorder.call("get_sku_roles", "GET", f"/api/v1/skus/{made}/roles")
    number = {"register_name": "SYDEREP", "number": "FR123456_01ABCD", "valid_from": "2026-01-01"}
    mandate = {"name": "Mandataire SARL", "mandate_from": "2026-08-12"}
    signed = {"name": "Ada Lovelace", "signed_on": "2026-08-12"}
    held = {"market": "FR", "registrations": [number], "representative": mandate, "certification": signed}
    recorder.call("put_registers", "PUT", "/api/v1/registers", json=held)
    recorder.call("get_registers", "GET", "/api/v1/registers")
    printed = [{"mark": "Green Dot"}, {"mark": "Triman"}, {"mark": "PAP 21"}, {"mark": "Sun over a pine"}]
    claim = {"text": "Made of 30 % recycled glass", "property": "recycled_content", "about": "unit"}
    artwork = {"artwork_reference": "AW-1207", "artwork_state": "in_design", "changes_on": "2027-01-11"}
    recorder.call("put_marks", "PUT", f"/api/v1/marks/{made}", json={"marks": printed, "claims": [claim], **artwork})
    recorder.call("get_marks", "GET", f"/api/v1/marks/{made}")
    recorder.call("list_marks", "GET", "/api/v1/marks")
    recorder.call(
        "put_volumes",
        "PUT",
        f"/api/v1/skus/{made}/volumes",
        json=[
            {"market": "FR", "year": 2026, "units_placed": 15500},
            {"market": "ES-CT", "year": 2026, "half": 0, "units_placed": 900},
        ],
    )
    service.made(
        "doc",
        "add",
        *company,
        "--sku",
        "WTR-50",
        "--reference",
        "DOC-2026-17",
        "--status",
        "valid",
        "--issued-on",
        "2026-09-01",
        "--expires-on",
        "2031-08-31",
        "--supplier-name",
        "Pret SA",
    )
    patch = {"description": "Still water", "substances": {"pfas": {"evidence": "TR-2026-17"}}}
    for body in (patch, {"sku_code": "WTR-05"}, {"sku_code": "WTR-50"}):
        recorder.call("patch_sku", "PATCH", f"/api/v1/skus/{made}", json=body)
    freed = {"sku_code": "WTR-05", "reason": "The number goes to another bottle"}
    recorder.call("post_free_code", "POST", f"/api/v1/skus/{made}/free-code", json=freed)
    recorder.call("get_sku", "GET", f"/api/v1/skus/{made}")
    recorder.call("post_archive", "POST", f"/api/v1/skus/{made}/archive", json={"reason": "No longer sold"})
    recorder.call("list_archived", "GET", "/api/v1/skus/archived")
    recorder.call("post_return", "POST", f"/api/v1/skus/{made}/return", json={})
    return made


def _evidence(recorder: _Recorder, sku: str) -> None:
    fields = {"type": "packaging_photo", "reference": "PH-0042", "issued_on": "2026-09-01"}
    photo = {"file": ("bottle.png", _PNG, "image/png")}
    shown = {"file": "(the bytes of bottle.png)", **fields}
    path = f"/api/v1/skus/{sku}/files"
    recorder.call("post_file", "POST", path, shown=shown, data=fields, files=photo)
    recorder.call("post_file", "POST", f"{path}?dry_run=true", data=fields, files=photo)
    recorder.call("list_files", "GET", path)
    recorder.call("list_evidence", "GET", "/api/v1/evidence?limit=1")
    recorder.call("get_evidence", "GET", f"/api/v1/skus/{sku}/evidence")
    table = {"file": ("portfolio.csv", _CSV.encode(), "text/csv")}
    accepted = recorder.call("post_import", "POST", "/api/v1/imports", shown={"file": _CSV}, files=table)
    recorder.polled("get_import", accepted["poll_url"])
    materials = {"file": ("materials.csv", _MATERIALS.encode(), "text/csv")}
    dry_run = recorder.call("post_import", "POST", "/api/v1/imports?dry_run=true", files=materials)
    recorder.polled("get_import", dry_run["poll_url"], under="dry_run")
    again = {"mapping": {"columns": {"weight_grams": None}}, "dry_run": True}
    recorder.call("post_repeat", "POST", f"{accepted['poll_url']}/repeat", json=again)
    recorder.call("list_rejected", "GET", f"{accepted['poll_url']}/rejected")
    cells = [{"line": 3, "column": "A", "value": "JAR-10"}]
    corrections = {"cells": cells, "dry_run": True}
    recorder.call("post_corrections", "POST", f"{accepted['poll_url']}/corrections", json=corrections)
    recorder.call("post_undo", "POST", f"{accepted['poll_url']}/undo", json={"reason": "The file of last year"})
    words = {"words": [{"field": "material", "text": "Weißblech", "value": "metal"}]}
    recorder.call("put_words", "PUT", "/api/v1/words", json=words)
    recorder.call("list_words", "GET", "/api/v1/words")
    named = {"mapping": '{"columns": {"weight_grams": "weight_grams"}}', "mapping_name": "Glassworks"}
    recorder.call("post_import", "POST", "/api/v1/imports", data=named, files=table)
    kept = recorder.call("list_mappings", "GET", "/api/v1/mappings")["data"][0]["id"]
    recorder.call("delete_mapping", "DELETE", f"/api/v1/mappings/{kept}")


def _declarations(recorder: _Recorder, sku: str) -> None:
    asked = {"reference": "DOC-2026-18", "lang": "de"}
    draft = recorder.call("post_draft", "POST", f"/api/v1/skus/{sku}/doc-drafts", json=asked)["data"]
    recorder.call("post_draft", "POST", f"/api/v1/skus/{sku}/doc-drafts?dry_run=true", json=asked)
    recorder.call("list_drafts", "GET", "/api/v1/doc-drafts")
    recorder.call("get_draft", "GET", f"/api/v1/doc-drafts/{draft['id']}")
    signed = {
        "points": {"manufacturer": "Quai de la Loire 1, 75019 Paris", "standards": "EN 13430:2004"},
        "on_behalf_of": "Pret SA",
        "signatory": "Ada Marsh",
        "function": "Head of quality",
        "place": "Paris",
        "issued_on": draft["drafted_at"][:10],
        "languages": ["en"],
    }
    path = f"/api/v1/doc-drafts/{draft['id']}/issue"
    recorder.call("post_issue", "POST", f"{path}?dry_run=true", json=signed)
    doc = recorder.call("post_issue", "POST", path, json=signed)["data"]["id"]
    recorder.call("get_doc", "GET", f"/api/v1/docs/{doc}")
    renewal = {"reference": "DOC-2026-19"}
    for query in ("?dry_run=true", ""):
        recorder.call("post_renewal", "POST", f"/api/v1/docs/{doc}/renew{query}", json=renewal)
    recorder.call("search_docs", "GET", "/api/v1/docs/search?limit=2")
    reason = {"reason": "The label was changed."}
    recorder.call("post_withdrawal", "POST", f"/api/v1/docs/{doc}/withdraw", json=reason)


def _library(recorder: _Recorder) -> None:
    part = {"code": "CAP-28-NEW", "name": "Cap 28 mm", "component_type": "cap", "material_family": "plastic"}
    for operation, path, body in (
        ("post_brand", "/api/v1/brands", {"name": "Aqua Pura-NEW", "owner_name": "Aqua Pura SA"}),
        ("post_site", "/api/v1/sites", {"name": "Lyon-NEW", "roles": ["packing"], "country": "FR", "city": "Lyon"}),
        ("post_supplier", "/api/v1/suppliers", {"name": "Préformes du Rhône", "country": "FR"}),
        ("post_component", "/api/v1/components", part | {"polymer_or_grade": "HDPE", "weight_g": 1.5}),
    ):
        made = recorder.call(operation, "POST", path, json=body)["data"]["id"]
        recorder.call(operation, "POST", path, json=body)
        recorder.call(operation.replace("post", "get"), "GET", f"{path}/{made}")
        patch = {"name": f"{body['name']} 2"} | ({"weight_g": 1.6} if "weight_g" in body else {})
        recorder.call(operation.replace("post", "patch"), "PATCH", f"{path}/{made}", json=patch)
    recorder.call("list_suppliers", "GET", "/api/v1/suppliers")
    recorder.call("list_imports", "GET", "/api/v1/imports")


def _exports(recorder: _Recorder) -> None:
    path, body = "/api/v1/exports", {"format": "csv", "source": "records"}
    recorder.call("post_export", "POST", f"{path}?dry_run=true", json=body)
    made = recorder.call("post_export", "POST", path, json=body)["data"]["id"]
    recorder.polled("get_export", f"{path}/{made}")
    recorder.call("list_exports", "GET", path)


def _enquiry(recorder: _Recorder) -> None:
    path, codes = "/api/v1/supplier-enquiries", ["WTR-50"]
    body = {"supplier_name": "Préformes du Rhône", "sku_codes": codes, "message": "For our declaration of 2026."}
    recorder.call("post_supplier_enquiry", "POST", path, json=body)
    recorder.call("post_supplier_enquiry", "POST", f"{path}?dry_run=true", json=body)
    recorder.hide_links("post_supplier_enquiry")
    made = recorder.call("list_supplier_enquiries", "GET", path)["data"][0]["id"]
    asked = {"sku_code": "WTR-50", "supplier_name": "Préformes du Rhône"}
    recorder.call("post_supplier_request", "POST", "/api/v1/supplier-requests", json=asked)
    recorder.hide("post_supplier_request", "token", "x" * 43)
    recorder.hide("post_supplier_request", "url", f"https://pcds.example/supplier-data/{'x' * 43}")
    recorder.call("post_supplier_request", "POST", "/api/v1/supplier-requests?dry_run=true", json=asked)
    recorder.call("list_supplier_requests", "GET", "/api/v1/supplier-requests?limit=2")
    recorder.call("get_supplier_enquiry", "GET", f"{path}/{made}")
    recorder.call("post_remind_supplier", "POST", f"{path}/{made}/remind", json={})
    recorder.hide_links("post_remind_supplier")
    reason = {"reason": "Asked by mistake"}
    recorder.call("post_withdraw_enquiry", "POST", f"{path}/{made}/withdraw", json=reason)
    one = recorder.call("list_supplier_requests", "GET", "/api/v1/supplier-requests?limit=2")["data"][1]["id"]
    recorder.call("post_withdraw_request", "POST", f"/api/v1/supplier-requests/{one}/withdraw", json=reason)


def _webhooks(recorder: _Recorder) -> None:
    path, secret = "/api/v1/webhooks", "whsec_" + "x" * 44
    types = ["sku.archived", "sku.created", "sku.returned", "sku.updated"]
    body = {"url": "https://erp.example/hooks/packaging", "description": "The ERP's copy", "types": types}
    made = recorder.call("post_webhook", "POST", path, json=body)["data"]["id"]
    recorder.hide("post_webhook", "secret", secret)
    recorder.call("post_webhook", "POST", f"{path}?dry_run=true", json=body)
    recorder.call("list_webhooks", "GET", path)
    recorder.call("get_webhook", "GET", f"{path}/{made}")
    recorder.call("post_roll_secret", "POST", f"{path}/{made}/roll-secret", json={"overlap_hours": 24})
    recorder.hide("post_roll_secret", "secret", secret)
    cursor = recorder.call("list_changes", "GET", "/api/v1/changes?limit=2")["next_cursor"]
    recorder.call("post_replay", "POST", f"{path}/{made}/replay", json={"after": cursor})
    recorder.call("post_test", "POST", f"{path}/{made}/test")
    recorder.call("list_deliveries", "GET", f"{path}/{made}/deliveries")
    recorder.call("patch_webhook", "PATCH", f"{path}/{made}", json={"state": "paused"})
    recorder.call("delete_webhook", "DELETE", f"{path}/{made}")


def _supplier(recorder: _Recorder, service: Service) -> None:
    asked = service.made("supplier-request", "create", "--company", service.company_id, "--sku", "WTR-50")
    recorder.call(
        "post_supplier_data",
        "POST",
        f"/api/supplier-data/{asked['token']}",
        json={
            "consent": True,
            "response": {
                "components": [
                    {
                        "component_id": asked["component_ids"][0],
                        "weight_g": 12.6,
                        "recycled_content_percent": 30,
                        "substances": {"pfas": {"status": "absent"}},
                    },
                ],
                "contact": "quality@pret.example",
                "comment": "Weighed on the production of October 2026.",
            },
        },
    )


def _figures(recorder: _Recorder, service: Service) -> None:
    body = {"component_type": "body", "material_family": "plastic"}
    pouch = {"sku_code": "POUCH-1", "name": "Pouch", "components": [body]}
    made = recorder.call("post_sku", "POST", "/api/v1/skus", json=pouch)["data"]["id"]
    units = [{"market": "FR", "year": 2026, "units_placed": 800}]
    recorder.call("put_volumes", "PUT", f"/api/v1/skus/{made}/volumes", json=units)
    service.made("rollup", "--company", service.company_id)
    for name in ("tonnes", "uncounted", "undecided", "obligations"):
        recorder.call(f"list_{name}", "GET", f"/api/v1/figures/{name}?limit=2")
    wanted = {"market": "FR", "year": 2026, "format": "csv"}
    recorder.call("post_declaration", "POST", "/api/v1/declarations?dry_run=1", json=wanted)
    kept = recorder.call("post_declaration", "POST", "/api/v1/declarations", json=wanted)["data"]
    recorder.call("list_declarations", "GET", "/api/v1/declarations")
    recorder.call("get_declaration", "GET", f"/api/v1/declarations/{kept['id']}")


def _lists(recorder: _Recorder) -> None:
    recorder.call("list_skus", "GET", "/api/v1/skus?limit=2")
    recorder.call("list_components", "GET", "/api/v1/components")
    recorder.call("list_sites", "GET", "/api/v1/sites")
    recorder.call("list_brands", "GET", "/api/v1/brands")
    recorder.call("list_docs", "GET", "/api/v1/docs")
    recorder.call("list_audit_entries", "GET", "/api/v1/audit-log?limit=2")
    recorder.call("list_jurisdictions", "GET", "/api/v1/jurisdictions?limit=2&offset=13")


def _service_itself(recorder: _Recorder, service: Service) -> None:
    asked = {"grant_type": "client_credentials", "scope": "read write"}
    secret = (service.client_id, service.key)
    recorder.call("post_token", "POST", "/api/v1/oauth/token", shown=asked, data=asked, auth=secret)
    recorder.hide("post_token", "access_token", _SECRET)
    recorder.call("openapi_json", "GET", "/api/v1/openapi.json")
    recorder.shorten("openapi_json", "openapi", "info")
    recorder.call("supplier_data_response", "GET", "/api/v1/schemas/supplier-data-response")
    recorder.shorten("supplier_data_response", "$schema", "$id", "version", "date", "title")
    tester = service.made("key", "issue", "--company", service.company_id, "--test")
    recorder.call("post_reset", "POST", "/api/v1/sandbox/reset", headers={"X-API-Key": tester["api_key"]})
    recorder.call("healthz", "GET", "/healthz")
    recorder.call("readyz", "GET", "/readyz")


if __name__ == "__main__":
    main()
