import json
import logging
import re
import subprocess
import sys

import pytest

from warehouse.operate.logs import hide_secrets

_PROGRAM = """
import logging, structlog
from warehouse.operate import logs
from warehouse.operate.settings import Settings
logs.configure(Settings.load(log_level="info"))
structlog.contextvars.bind_contextvars(correlation_id="c-1")
structlog.get_logger("ours").info("import.done", rows=3, api_key="svc_live")
logging.getLogger("theirs").warning("to %s", "postgresql://u:pw@h/db")
logging.getLogger("theirs").debug("unheard")
logging.getLogger("alembic.runtime.migration").info("unheard")
try: 1 / 0
except ZeroDivisionError: structlog.get_logger("ours").exception("broke")
"""


def test_every_line_is_one_json_object_on_standard_error_with_the_correlation_id() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    ours, theirs, broke = [json.loads(line) for line in done.stderr.splitlines()]
    assert (ours["event"], ours["rows"]) == ("import.done", 3)
    assert ours["api_key"] == "[hidden]"
    assert theirs["event"] == "to postgresql://u:[hidden]@h/db"
    assert "ZeroDivisionError" in broke["exception"]
    assert {line["correlation_id"] for line in (ours, theirs, broke)} == {"c-1"}
    assert [line["level"] for line in (ours, theirs, broke)] == ["info", "warning", "error"]


_BOTH_ROADS = """
import logging, sys, structlog
from warehouse.operate import logs
from warehouse.operate.settings import Settings
logs.configure(Settings.load(log_level="info"))
structlog.contextvars.bind_contextvars(correlation_id="svc_live")
fields = {"method": "GET", "route": "/ü", "status": 200, "ms": 0.1, "company": None}
structlog.get_logger("of").info("request", **fields)
logs.write_line(logging.getLogger("of"), logging.INFO, "request", fields)
logs.write_line(logging.getLogger("of"), logging.DEBUG, "unheard", fields)
sys.stderr.close()
logs.write_line(logging.getLogger("of"), logging.INFO, "gone", fields)
print("went on")
"""


def test_a_line_past_the_loggers_is_the_line_that_they_write() -> None:
    done = subprocess.run([sys.executable, "-c", _BOTH_ROADS], capture_output=True, text=True, check=True)
    usual, short = [re.sub(r"\.\d{6}Z", ".Z", line) for line in done.stderr.splitlines()]
    usual, short = (re.sub(r"T[\d:]{8}", "T", line) for line in (usual, short))
    assert short == usual
    assert ("live" in short, "svc_[hidden]" in short, done.stdout) == (False, True, "went on\n")


@pytest.mark.parametrize(
    "event",
    [
        {"password": "hunter2"},
        {"headers": [{"Authorization": "hunter2"}, {"x-api-key": "hunter2"}]},
        {"request": {"cookie": b"hunter2"}},
        {"event": "key svc_hunter2 refused"},
        {"event": "key SVC_hunter2 refused"},
        {"event": "key \N{LATIN SMALL LETTER LONG S}vc_hunter2 refused"},
        {"event": "BeARer hunter2"},
        {"event": "Bearer hunter2"},
        {"url": "postgresql://owner:hunter2@db/x"},
        {"confirmation_token": "hunter2"},
    ],
)
def test_no_secret_reaches_a_line(event: dict[str, object]) -> None:
    assert "hunter2" not in str(hide_secrets(logging.getLogger(), "info", event))


def test_what_is_no_secret_stays() -> None:
    event = {"key_id": 7, "event": "api_key.issued", "path": "/api/v1/skus", "tokens": None}
    assert hide_secrets(None, "info", dict(event)) == event
