"""Removes outputs of Dagster's assets that are as old as the runs that are removed, except the newest."""

from datetime import timedelta

from pipelines.housekeeping.proceed import Proceed
from warehouse.companies.queries import every_company
from warehouse.objects import NoSuchObject, Objects
from warehouse.outputs import FOLDER, Place, newest_key
from warehouse.sessions import Pool


def remove_old_outputs(pool: Pool, objects: Objects, kept_for: timedelta, proceed: Proceed) -> int:
    """Remove the parts of outputs older than that, except each asset's newest of each company; return how many.

    Their age is measured on the store's own clock.
    """
    oldest, removed = objects.now() - kept_for, 0
    for company_id in every_company(pool):
        newest: dict[str, str | None] = {}
        old = sorted(key for key, at in objects.stored(company_id, FOLDER) if at < oldest)  # `about.json` goes first
        for key in old:
            proceed()
            place = Place.of(key)
            if place.asset not in newest:
                try:
                    newest[place.asset] = objects.get(newest_key(company_id, place.asset)).decode()
                except NoSuchObject:
                    newest[place.asset] = None
            if place.run_id not in (None, newest[place.asset]):
                objects.delete(key)
                removed += 1
    return removed
