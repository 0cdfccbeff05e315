"""`make bench` says in its last line which bounds are broken."""

import sys

import pytest

from bench import __main__ as bench
from bench.report import Line


def test_its_first_line_names_the_commit_and_its_last_one_what_is_over_its_bound(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        Line("a page", "2 ms", "1 ms", 2.0, 1.2),
        Line("a write", "2 ms", "1 ms", 2.0, 2.5),
        Line("a start", "8 s"),
    ]
    monkeypatch.setattr(bench, "_measured", lambda _: iter(lines))
    monkeypatch.setattr(sys, "argv", ["bench"])
    bench.main()
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.split(", ")[0]
    assert last == "Bounds broken: a page"
