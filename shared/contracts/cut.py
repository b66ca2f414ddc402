"""Formats figures of a promise, never rounded in its favour. Pure."""

import math
from typing import Final

_FLOAT_ERROR: Final = 1e-9
"""A logarithm that should be exactly 3 may come out this much smaller."""


def cut(value: float, decimals: int) -> str:
    """The value with `decimals` decimals, cut towards minus infinity, so that it never shows too much.

    Args:
        value: the figure, in any unit; finite.
        decimals: digits after the point, 0 or more.
    """
    scale = 10**decimals
    return f"{math.floor(value * scale + _FLOAT_ERROR) / scale:.{decimals}f}"


def cut_short(value: float, decimals: int) -> str:
    """The same without zeros at the end."""
    return _short(cut(value, decimals), decimals)


def raised_short(value: float, decimals: int) -> str:
    """The contrary, for a figure of 0 or more that should be small: it never shows too little."""
    return _short(cut(-value, decimals).removeprefix("-"), decimals)


def _short(text: str, decimals: int) -> str:
    return text.rstrip("0").rstrip(".") if decimals else text
