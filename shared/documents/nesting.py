"""Finds values that are nested too deeply for what handles documents. Pure."""

from collections.abc import Iterable


def deeper_than(value: object, levels: int) -> bool:
    """Whether plain values nest lists and mappings more than `levels` deep; does not recurse."""
    inside = [value]
    for _ in range(levels):
        inside = [each for one in inside for each in _members(one) if isinstance(each, list | dict)]
        if not inside:
            return False
    return True


def _members(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
