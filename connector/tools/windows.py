"""Pages one packaging item: each list in a record that can be long is cut to a window.

An item may have a component for each part and volumes for each market and year, up to the limit of one write; a model
reads a page of each, and the grade's reasons for the components of that page.
"""

from collections.abc import Sequence, Sized

from connector.tools.answer import Page
from schemas.grading import GradeTrace, GradeUnit
from schemas.sku import Component, SkuDetail


def cut_to_window(item: SkuDetail, limit: int, offset: int) -> tuple[SkuDetail, Page]:
    """Return SkuDetailResponse.data cut to a window, and the window's position in the longest of its lists."""
    end = offset + limit
    compliance = item["compliance"]
    trace = compliance["grade_trace"]
    schemes = compliance["schemes"]
    lists: tuple[Sized, ...] = (
        item["components"],
        item["volumes"],
        trace["missing"],
        trace["open"],
        trace["assumptions"],
        *(each["open"] for each in schemes),
    )
    total = max(map(len, lists))
    components = item["components"][offset:end]
    cut: GradeTrace = {
        **trace,
        "missing": trace["missing"][offset:end],
        "open": trace["open"][offset:end],
        "assumptions": trace["assumptions"][offset:end],
        "units": _units(trace["units"], components),
    }
    shown: SkuDetail = {
        **item,
        "components": components,
        "volumes": item["volumes"][offset:end],
        "compliance": {
            **compliance,
            "grade_trace": cut,
            "schemes": [{**each, "open": each["open"][offset:end]} for each in schemes],
        },
    }
    return shown, Page.of({"limit": limit, "offset": offset, "total": total}, min(end, total) - min(offset, total))


def _units(units: Sequence[GradeUnit], components: Sequence[Component]) -> list[GradeUnit]:
    """Return the units of these components, or that of an item without any, without other components in them."""
    shown: set[str | None] = {None, *(component["id"] for component in components)}
    cut: list[GradeUnit] = [
        {
            **unit,
            "components": [part for part in unit["components"] if part["component_id"] in shown],
            "component_ids": [named for named in unit["component_ids"] if named in shown],
        }
        for unit in units
    ]
    return [unit for unit in cut if unit["components"]]
