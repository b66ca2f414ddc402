"""Reads figures from a page."""

import math
import re
from typing import Any

from playwright.sync_api import Locator, Page

_NUMBER = re.compile(r"[\u2212<>-]?\d[\d,]*(\.\d+)?")


def agrees(text: str, value: float) -> bool:
    """Whether a page's text is this value, to the shown digits (nines are truncated, others rounded)."""
    found = _NUMBER.search(text)
    if found is None:
        return False
    shown = found.group().replace(",", "").replace("\u2212", "-")
    if shown[0] in "<>":
        bound = float(shown[1:])
        return 0 < value < bound if shown[0] == "<" else bound < value < 100
    decimals = len(shown.partition(".")[2])
    least = 10.0**-decimals
    return math.isclose(float(shown), value, abs_tol=least * (0.5001 if "nines" not in text else 1))


def tile(page: Page, name: str) -> str:
    """The figure of a tile with its unit."""
    return page.locator(f"[data-testid={name}] .figure").inner_text()


def cell(row: Locator, name: str) -> str:
    """A cell of a row."""
    return row.locator(f"[data-name={name}]").inner_text()


def series(page: Page, chart: str) -> dict[str, list[float | None]]:
    """The values that a chart has drawn, by the line's name."""
    drawn: list[dict[str, Any]] = page.get_by_test_id(chart).evaluate(
        "at => getElement(Number(at.id.slice(1))).chart.getOption().series"
    )
    return {each["name"]: [_value(point) for point in each["data"]] for each in drawn}


def _value(point: Any) -> float | None:
    return point["value"] if isinstance(point, dict) else None if point in (None, "-") else float(point)
