"""Pages one packaging item: each list in a record that can be long is cut to a window.

An item may have a component for each part and volumes for each market and year, up to the limit of one write; a model
reads a page of each, and the grade's reasons for the components of that page.
"""

from typing import Any, Final

from connector.tools.answer import Page

_REASONS: Final = ("missing", "open", "assumptions")


def windowed(item: dict[str, Any], limit: int, offset: int) -> tuple[dict[str, Any], Page]:
    """Return SkuDetailResponse.data cut to a window, and the window's position in the longest of its lists."""
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


def _units(units: list[dict[str, Any]], components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the units of these components, or that of an item without any, without other components in them."""
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
