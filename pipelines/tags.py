"""Tags of runs that no launcher of Dagster's has started."""

from typing import Final

from dagster._core.storage.tags import REPOSITORY_LABEL_TAG

CODE_LOCATION: Final = {REPOSITORY_LABEL_TAG: "__repository__@pipelines.definitions"}
"""By this tag the UI lists a run under its job, although no launcher has started it."""

FOLLOWED: Final = {"pcds/followed": "true"}
"""On runs that followed a write: a busy company has thousands a day, so that their record is kept for two days only."""

COMPANY: Final = "pcds/company_id"
"""Whose run it is."""

FIRST_COMPANY: Final = "pcds/first_company_id"
"""On a run of many companies, the first of them: its lock is held as long as the run's process lives."""
