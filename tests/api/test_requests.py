"""What holds for every request: the correlation id, one log line, unknown paths and methods, and faults of ours."""

import json

import pytest

from api.skus import routes


@pytest.mark.parametrize("path", ["/api/v1/skus", "/api/v1/nothing", "/healthz", "/", "/api/v1/skus/"])
def test_every_answer_names_itself(http, path):
    answer = http.get(path)
    identifier = answer.headers["x-correlation-id"]
    assert identifier
    if answer.status_code >= 400:
        assert answer.json()["correlationId"] == identifier


@pytest.mark.parametrize(("given", "kept"), [("erp-42/7", True), ("x" * 128, True), ("x" * 129, False), ("a b", False)])
def test_a_callers_own_correlation_id_is_kept(http, given, kept):
    answer = http.get("/api/v1/skus", headers={"X-Correlation-Id": given})
    assert (answer.headers["x-correlation-id"] == given) is kept


@pytest.mark.parametrize("path", ["/", "/api/v1", "/api/v1/nothing", "/api/v1/skus/", "/api/v2/skus", "/docs"])
def test_an_unknown_path_is_not_found(http, path):
    answer = http.get(path, follow_redirects=False)
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/api/v1/skus", "GET, HEAD, POST"),
        ("DELETE", "/api/v1/skus/0198b8a0-0000-7000-8000-000000000000", "GET, HEAD, PATCH, PUT"),
        ("POST", "/api/v1/jurisdictions", "GET, HEAD"),
        ("PUT", "/healthz", "GET, HEAD"),
        ("POST", "/api/v1/openapi.json", "GET, HEAD"),
    ],
)
def test_another_method_names_those_there_are(http, method, path, allow):
    answer = http.request(method, path)
    assert (answer.status_code, answer.json()["error"], answer.headers["allow"]) == (405, "not_found", allow)


def _lines(capsys):
    """The lines of requests on standard error."""
    written = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    return [line for line in written if (line["logger"], line["event"]) == ("pcds.requests", "request")]


def test_a_fault_of_ours_is_logged_with_its_id_and_shows_nothing(caller, monkeypatch, caplog, capsys):
    def broken(*_):
        raise RuntimeError("a secret inner thing")

    monkeypatch.setattr(routes, "answer_page", broken)
    answer = caller.get("/skus", headers={"X-Correlation-Id": "find-me"})
    assert (answer.status_code, answer.json()["error"]) == (500, "internal_error")
    assert "secret" not in answer.text
    [fault] = [record.msg for record in caplog.records if record.name == "pcds.requests"]
    [request] = _lines(capsys)
    assert fault["correlation_id"] == request["correlation_id"] == answer.json()["correlationId"] == "find-me"
    assert "a secret inner thing" in fault["exception"]
    assert request["status"] == 500


def test_one_log_line_a_request_without_the_key(caller, capsys):
    sku = caller.made()
    capsys.readouterr()
    caller.get(f"/skus/{sku['id']}")
    [line] = _lines(capsys)
    assert (line["route"], line["status"], line["company"]) == ("/api/v1/skus/{id}", 200, str(caller.company))
    assert line["ms"] > 0
    assert caller.key not in str(line)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:77:9::5", "2001:db8:77::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/skus", "/api/mcp", "/sign-in"])
def test_the_line_has_the_callers_network_and_the_route_but_no_address(http, capsys, address, network, path):
    http.get(path, headers={"X-Forwarded-For": address})
    [line] = _lines(capsys)
    assert (line["route"], line["network"]) == (path, network)
    assert address not in str(line)
