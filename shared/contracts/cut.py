"""Formats figures of a promise, cut and never rounded up. Pure."""

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
