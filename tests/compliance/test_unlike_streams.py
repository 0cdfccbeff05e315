"""A feature that one rigid plastic stream judges and another ignores is written down, with its reason."""

from compliance.ruleset import load
from compliance.tables import rows
from tests.compliance.features import BODIES, PARTS, STREAMS, judged
from tests.compliance.worked import DATA

LISTED = {
    (row["feature"], stream): row["reason"]
    for row in rows(DATA / "unlike_streams.csv")
    for stream in row["streams"].split("|")
}


def test_every_feature_that_streams_judge_unlike_is_listed_with_its_reason():
    found = set()
    for feature in (*PARTS, *BODIES):
        ignoring = [stream for stream in STREAMS if not judged(stream, feature, load())]
        if len(ignoring) < len(STREAMS):
            found |= {(feature, stream) for stream in ignoring}
    assert found == set(LISTED)
    assert all(reason.endswith(".") for reason in LISTED.values())


def test_the_rule_set_before_judged_more_of_them_unlike():
    """Else the comparison would not see what the tables of 2026-11-22 closed."""
    before = [(f, s) for f in (*PARTS, *BODIES) for s in STREAMS if not judged(s, f, load("2026-11-21"))]
    now = [(f, s) for f in (*PARTS, *BODIES) for s in STREAMS if not judged(s, f, load())]
    assert {("foil in the wall", "PET_rigid_other"), ("silicone part", "PS_rigid")} <= {*before} - {*now}
    assert len(now) < len(before)
