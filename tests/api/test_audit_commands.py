"""`pcds audit` as an operator types it, and what it says of a company that was removed."""

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
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
    found = pcds.json(*verify)
    assert (found["ok"], found["head_ok"]) == (False, False)
    assert "does not have the head" in found["reason"]
    assert f"reason: {found['reason']}" in pcds.run(*verify).stdout.splitlines()
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
    shipped = pcds.json("audit", "ship", "--to", tmp_path)["file"]
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
    against = ("audit", "verify", "--company", company, "--against", shipped)
    assert pcds.json(*against)["head_ok"]
    with psycopg.connect(pcds.database().owner_url) as owner:
        owner.execute("UPDATE removed_links SET hash = sha256('x') WHERE company = %s", [company])
    verified = pcds.json(*against)
    assert (verified["ok"], verified["head_ok"]) == (False, False)
    listed = {each["id"] for each in pcds.json("company", "list")["companies"]}
    assert company not in listed
    assert pcds.json("audit", "verify", "--company", other)["ok"]
    assert "no company" in pcds.refused(1, "company", "export", company, "--to", tmp_path / "none")


@pytest.fixture
def left(pcds, tmp_path):
    """A company that was removed after two transactions, with an export of the first and one of both."""
    company = pcds.json("company", "add", "--name", "Left", "--plan", "starter")["id"]
    older, newest = tmp_path / "older", tmp_path / "newest"
    pcds.json("company", "export", company, "--to", older)
    pcds.json("brand", "add", "--company", company, "--name", "B")
    pcds.json("company", "export", company, "--to", newest)
    remove = ("company", "remove", company, "--name", "Left", "--certificate", tmp_path / "certificate.json")
    pcds.json(*remove, "--exported", newest)
    return Left(company, older, newest)


class Left(NamedTuple):
    company: str
    older: Path
    newest: Path


def verified(pcds, left, folder):
    """The verdict on an export, which people are told with the same reason."""
    command = ("audit", "verify", "--company", left.company, "--exported", folder)
    found = pcds.json(*command)
    said = pcds.run(*command).stdout.splitlines()
    assert [line for line in said if line.startswith("reason:")] == (
        [f"reason: {found['reason']}"] if "reason" in found else []
    )
    return found


def test_an_export_from_before_the_last_entries_says_so(pcds, left):
    found = verified(pcds, left, left.older)
    assert (found["ok"], found["export_ok"], found["entries"], found["first_bad"]) == (False, False, 2, "2")
    at = json.loads((left.older / "export.json").read_text())["at"]
    assert found["reason"].startswith(f"The export of {at} has the first 1 of 2 entries; they agree")
    assert found["reason"].endswith("verify the newest export.")
    newest = verified(pcds, left, left.newest)
    assert (newest["ok"], newest["export_ok"], newest["first_bad"]) == (True, True, None)


def test_an_export_that_was_altered_with_its_list_says_so(pcds, left):
    file, listing = left.newest / "tables" / "audit_entries.csv.gz", left.newest / "export.json"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"brand.created", b"brand.updated")))
    about = json.loads(listing.read_text())
    about["files"]["tables/audit_entries.csv.gz"] = hashlib.sha256(file.read_bytes()).hexdigest()
    listing.write_text(json.dumps(about))
    found = verified(pcds, left, left.newest)
    assert (found["ok"], found["first_bad"]) == (False, "2")
    assert "was altered" in found["reason"]


def test_an_export_of_another_chain_says_from_where_on(pcds, left):
    with psycopg.connect(pcds.database().owner_url) as owner:
        owner.execute("DELETE FROM removed_links WHERE company = %s AND number = 2", [left.company])
        owner.execute(
            "UPDATE removed_companies SET links = 1, entries = 1, chain_hash = hash, hashes = sha256(hash) "
            "FROM removed_links WHERE removed_links.company = removed_companies.company AND removed_links.company = %s",
            [left.company],
        )
    found = verified(pcds, left, left.newest)
    assert (found["ok"], found["export_ok"], found["first_bad"]) == (False, False, "2")
    assert "from its entry 2 on" in found["reason"]
    assert verified(pcds, left, left.older)["ok"]


def test_hashes_that_were_changed_since_the_removal_are_named_first(pcds, left):
    with psycopg.connect(pcds.database().owner_url) as owner:
        owner.execute("UPDATE removed_links SET hash = sha256('x') WHERE company = %s AND number = 2", [left.company])
    without = pcds.json("audit", "verify", "--company", left.company)
    assert without["ok"] is False
    assert "removed_links" in without["reason"]
    assert verified(pcds, left, left.newest)["reason"] == without["reason"]


def test_an_export_is_not_verified_of_a_company_that_is_here(pcds, tmp_path):
    company = pcds.json("company", "add", "--name", "Here", "--plan", "starter")["id"]
    assert "is here" in pcds.refused(1, "audit", "verify", "--company", company, "--exported", tmp_path)
