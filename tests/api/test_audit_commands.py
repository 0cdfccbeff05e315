"""`pcds audit` as an operator types it, and what it says of a company that was removed."""

import base64
import json
from pathlib import Path

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def test_a_ledger_is_verified_and_tells_what_was_tampered_with(pcds):
    company = pcds.json("company", "add", "--name", "Chain", "--plan", "enterprise")["id"]
    pcds.json("brand", "add", "--company", company, "--name", "B")
    whole = pcds.json("audit", "verify", "--company", company)
    assert whole == {"entries": 2, "ok": True, "first_bad": None}
    with psycopg.connect(pcds.database().owner_url) as owner:
        owner.execute("UPDATE audit_entries SET after = '{}' WHERE id = 2 AND company_id = %s", [company])
    assert pcds.json("audit", "verify", "--company", company) == {"entries": 2, "ok": False, "first_bad": "2"}
    nobody = "00000000-0000-7000-8000-000000000000"
    assert nobody in pcds.refused(1, "audit", "verify", "--company", nobody)


def test_a_chain_that_was_computed_anew_is_found_by_a_head_that_was_shipped(pcds, tmp_path):
    company = pcds.json("company", "add", "--name", "Headed", "--plan", "starter")["id"]
    pcds.json("company", "set-plan", company, "growth")
    shipped = pcds.json("audit", "ship", "--to", tmp_path)
    verify = ("audit", "verify", "--company", company, "--against", shipped["file"])
    pcds.json("company", "set-plan", company, "professional")
    found = pcds.json(*verify)
    assert (found["ok"], found["head_links"], found["entries"]) == (True, 2, 3)
    assert pcds.json(*verify, "--public-key", shipped["public_key"])["ok"]
    other = base64.b64encode(Ed25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    assert "not signed" in pcds.refused(1, *verify, "--public-key", other)
    with psycopg.connect(pcds.database().owner_url) as owner:
        forge = "UPDATE audit_transactions SET hash = sha256('x') WHERE company_id = %s AND number = 2"
        owner.execute(forge, [company])
    assert pcds.json(*verify)["head_ok"] is False
    file = Path(shipped["file"])
    altered = json.loads(file.read_text())
    altered["statement"]["heads"][0]["links"] += 1
    file.write_text(json.dumps(altered))
    assert "not signed" in pcds.refused(1, *verify)
    assert pcds.run("audit", "ship").returncode == 2


def test_a_company_is_exported_and_removed_by_name_and_its_chain_stays(pcds, tmp_path):
    company = pcds.json("company", "add", "--name", "Leaving GmbH", "--plan", "starter")["id"]
    other = pcds.json("company", "add", "--name", "Staying GmbH", "--plan", "starter")["id"]
    out, certificate = tmp_path / "out", tmp_path / "certificate.json"
    assert pcds.json("company", "export", company, "--to", out)["links"] == 1
    remove = ("company", "remove", company, "--certificate", certificate)
    assert pcds.run(*remove, "--name", "Leaving GmbH").returncode == 2, "an export is named, or done without"
    assert "another name" in pcds.refused(1, *remove, "--name", "Staying GmbH", "--exported", out)
    assert pcds.json(*remove, "--name", "Leaving GmbH", "--exported", out)["rows"]["companies"] == 1
    assert b"Leaving GmbH" not in certificate.read_bytes()
    again = tmp_path / "again.json"
    pcds.json("company", "remove", company, "--certificate", again, "--name", "Leaving GmbH", "--without-export")
    assert again.read_bytes() == certificate.read_bytes()
    verified = pcds.json("audit", "verify", "--company", company, "--exported", out)
    assert (verified["ok"], verified["export_ok"], verified["entries"]) == (True, True, 1)
    listed = {each["id"] for each in pcds.json("company", "list")["companies"]}
    assert company not in listed
    assert pcds.json("audit", "verify", "--company", other)["ok"]
    assert "no company" in pcds.refused(1, "company", "export", company, "--to", tmp_path / "none")
