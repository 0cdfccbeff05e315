"""One packaging item in pages: what a record holds any number of is shown a window at a time.

An item may have a component for each part and volumes for each market and year, up to what one write takes; a model
reads a page of each, and the grade's reasons for the components of that page.
"""

from typing import Any, Final

from connector.tools.answer import Page

_REASONS: Final = ("missing", "open", "assumptions")


def windowed(item: dict[str, Any], limit: int, offset: int) -> tuple[dict[str, object], Page]:
    """SkuDetailResponse.data cut to a window, and where that lies in the longest of its lists."""
    end = offset + limit
    compliance = item["compliance"]
    trace = compliance["grade_trace"]
    schemes = compliance["schemes"]
    listed = (
        item["components"],
        item["volumes"],
        *(trace[name] for name in _REASONS),
        *(each["open"] for each in schemes),
    )
    total = max(len(found) for found in listed)
    components = item["components"][offset:end]
    cut = {name: trace[name][offset:end] for name in _REASONS} | {"units": _units(trace["units"], components)}
    shown = {
        **item,
        "components": components,
        "volumes": item["volumes"][offset:end],
        "compliance": {
            **compliance,
            "grade_trace": {**trace, **cut},
            "schemes": [{**each, "open": each["open"][offset:end]} for each in schemes],
        },
    }
    return shown, Page.of({"limit": limit, "offset": offset, "total": total}, min(end, total) - min(offset, total))


def _units(units: list[dict[str, Any]], components: list[dict[str, object]]) -> list[dict[str, object]]:
    """The units that these components are graded in, or that of an item without any, with no others in them."""
    shown = {component["id"] for component in components} | {None}
    cut = [
        {
            **unit,
            "components": [part for part in unit["components"] if part["component_id"] in shown],
            "component_ids": [named for named in unit["component_ids"] if named in shown],
        }
        for unit in units
    ]
    return [unit for unit in cut if unit["components"]]
