"""What makes reads cheaper: 304 for a copy that is current, what is left of the key's limit in each answer, gzip."""

import gzip
from datetime import timedelta
from uuid import uuid4

import pytest

from api.http.middleware import LEAST_BYTES
from tests.api.portfolios import exported, run, sent
from warehouse import conformity

CSV = "sku_code,name,gtin\nA-1,Jar,1\n"


@pytest.fixture
def paths(caller):
    """A path of each read that can be revalidated, with something in it."""
    imported, export = sent(caller, CSV), caller.post("/exports", {"format": "csv"}).json()["data"]["id"]
    sku = caller.made(sku_code="D-1")["id"]
    doc = caller.post(f"/skus/{sku}/doc-drafts", {}).json()["data"]
    assert doc["id"]
    return ["/components", "/sites", "/brands", "/docs", f"/imports/{imported}", f"/exports/{export}"]


@pytest.mark.promise("RED-01")
def test_a_copy_that_is_current_is_not_sent_again(caller, paths):
    for path in paths:
        first = caller.get(path)
        assert first.status_code == 200, path
        tag = first.headers["ETag"]
        for sent_back in (tag, f'"x", {tag}', tag.removeprefix("W/"), "*"):
            again = caller.get(path, headers={"If-None-Match": sent_back})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag), (path, sent_back)
        assert caller.get(path, headers={"If-None-Match": '"x"'}).content == first.content


@pytest.mark.promise("RED-01")
def test_a_copy_that_is_stale_is_sent_anew(caller, pool):
    imported = sent(caller, CSV)
    queued = caller.get(f"/imports/{imported}").headers["ETag"]
    run(caller, imported)
    done = caller.get(f"/imports/{imported}", headers={"If-None-Match": queued})
    assert (done.status_code, done.json()["counts"]["rejected"]) == (200, 1)
    in_french = caller.get(
        f"/imports/{imported}", headers={"If-None-Match": done.headers["ETag"], "Accept-Language": "fr"}
    )
    assert in_french.status_code == 200
    asked = caller.post("/exports", {"format": "csv"}).json()["data"]["id"]
    exported(caller)
    file = caller.get(f"/exports/{asked}/file")
    again = caller.get(f"/exports/{asked}/file", headers={"If-None-Match": file.headers["ETag"]})
    assert (file.status_code, again.status_code) == (200, 304)


def test_a_sku_is_sent_whole_as_its_tag_does_not_tell_that_its_coverage_ended(stopped, clock, pool):
    sku = stopped.made()
    values = {"sku_id": sku["id"], "status": "valid", "expires_on": clock.today()}
    with pool.company(stopped.company) as connection:
        given = {**dict.fromkeys(("reference", "supplier_name", "issued_on")), **values}
        conformity.add(connection, stopped.company, uuid4(), values=given, at=clock.now())
    first = stopped.get(f"/skus/{sku['id']}")
    assert first.json()["data"]["doc_status"] == "valid"
    clock.advance(timedelta(days=1))
    again = stopped.get(f"/skus/{sku['id']}", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.headers["ETag"]) == (200, first.headers["ETag"])
    assert again.json()["data"]["doc_status"] == "expired"


@pytest.mark.promise("RED-01")
def test_another_company_is_told_nothing_by_a_tag(caller, join, paths):
    other = join()
    for path in paths[-2:]:
        tag = caller.get(path).headers["ETag"]
        assert other.get(path, headers={"If-None-Match": tag}).status_code == 404
        assert other.get(path, headers={"If-None-Match": "*"}).status_code == 404


def left(answer):
    quota, window = answer.headers["RateLimit-Policy"].removeprefix('"key";q=').split(";w=")
    remaining, seconds = answer.headers["RateLimit"].removeprefix('"key";r=').split(";t=")
    return int(quota), int(window), int(remaining), int(seconds)


@pytest.mark.promise("RED-02")
def test_each_answer_says_what_is_left_of_the_keys_limit(stopped, clock):
    assert left(stopped.get("/brands")) == (120, 60, 119, 60)
    clock.advance(timedelta(seconds=10))
    for expected, answer in (
        (118, stopped.get("/skus/none")),
        (117, stopped.post("/skus", {"sku_code": "A", "name": "Jar"})),
        (116, stopped.post("/skus", {})),
        (115, stopped.get("/skus", params={"q": "jar"})),
    ):
        assert left(answer) == (120, 60, expected, 50), answer.url
    for _ in range(115):
        last = stopped.get("/brands")
    assert left(last) == (120, 60, 0, 50)
    over = stopped.get("/brands")
    assert (over.status_code, left(over)) == (429, (120, 60, 0, int(over.headers["Retry-After"])))
    clock.advance(timedelta(seconds=50))
    assert left(stopped.get("/brands"))[2] == 0  # the one place that was free again
    clock.advance(timedelta(seconds=60))
    assert left(stopped.get("/brands"))[2] == 119
    assert "RateLimit" not in stopped.http.get("/api/v1/skus").headers
    assert "RateLimit" not in stopped.http.get("/healthz").headers


@pytest.mark.promise("RED-03")
def test_a_large_read_is_compressed_for_whom_takes_it_and_nothing_else(caller):
    rows = [{"sku_code": f"G-{number:04d}", "name": "Jar", "description": "a text " * 20} for number in range(200)]
    written = caller.post("/skus/batch", {"skus": rows})
    assert len(written.content) > LEAST_BYTES
    assert "Content-Encoding" not in written.headers
    plain = caller.get("/skus", params={"limit": 200}, headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    with caller.http.stream(
        "GET", "/api/v1/skus?limit=200", headers={"X-API-Key": caller.key, "Accept-Encoding": "gzip"}
    ) as packed:
        data = b"".join(packed.iter_raw())
    assert (packed.headers["Content-Encoding"], packed.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert len(data) * 4 < len(plain.content)
    assert b'"G-0000"' in gzip.decompress(data)
    for refused in ("gzip;q=0", "gzip; q=0.000, *", "*;q=0", "br, gzip ;Q=0", "gzip;q=x", "deflate"):
        answer = caller.get("/skus", params={"limit": 200}, headers={"Accept-Encoding": refused})
        assert ("Content-Encoding" in answer.headers, answer.headers["Vary"]) == (False, "Accept-Encoding"), refused
    for taken in ("gzip;q=0.001", "*", "br;q=0, *;q=0.5", "identity;q=0.5, gzip;q=1.0", "x-gzip"):
        answer = caller.get("/skus", params={"limit": 200}, headers={"Accept-Encoding": taken})
        assert answer.headers["Content-Encoding"] == "gzip", taken
    assert "Content-Encoding" not in caller.get("/skus", params={"limit": 1}).headers
    assert "Content-Encoding" not in caller.http.get("/sign-in").headers
