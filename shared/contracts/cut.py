"""Figures of a promise, cut and never rounded up: rounding does not keep a promise. Pure."""

import math
from typing import Final

_FLOAT_ERROR: Final = 1e-9
"""A logarithm that should be exactly 3 may come out this much smaller."""


def cut(value: float, decimals: int) -> str:
    """The value to so many decimals, cut towards minus infinity, so that it never shows more than was kept.

    Args:
        value: what was kept, in any unit; finite.
        decimals: digits after the point, 0 or more.
    """
    scale = 10**decimals
    return f"{math.floor(value * scale + _FLOAT_ERROR) / scale:.{decimals}f}"
