"""Whether a micro-batch has time for a request, by how long its destination took for its answers. Pure.

All times are seconds.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pipelines.data.transmit.connectors.base import Answer

_LEAST_SECONDS: Final = 1.0
"""Least time that a request has for its answer, however long it waited for its turn."""

_RESERVE: Final = 1.25
"""Time that a request has for its answer, as a multiple of the usual duration."""

_DECAY: Final = 0.8
"""Factor on the usual duration after an immediate answer."""

_WHOLE: Final = 0.9
"""Share of a micro-batch that a request may count on: one that starts in the first tenth is not cut short."""


def usual_after(usual: float, request: float) -> float:
    """The usual duration after an answered request that took `request`: near the longest of the last ones."""
    return max(request, _DECAY * usual)


def whole_try(timeout: float, micro_batch: float) -> float:
    """How long a try lasts that is not cut short by the end of a micro-batch of that length."""
    return min(timeout, _WHOLE * micro_batch)


def kept_back(usual: float, whole: float) -> float:
    """How long before the deadline the last request may start; a whole try may start in any micro-batch.

    Args:
        usual: how long answered requests usually took; 0 if that is not known.
        whole: see `whole_try`.
    """
    return min(whole, max(_LEAST_SECONDS, _RESERVE * usual))


def judged(answers: Sequence[Answer], took: float, given: float, whole: float) -> Sequence[Answer]:
    """The answers to a request; where the deadline cut it short, its silence says nothing of the destination.

    Args:
        answers: the answers to it.
        took: how long it took.
        given: how long it could take at most.
        whole: see `whole_try`.
    """
    if given >= whole or took < given:
        return answers
    return [replace(each, cut_short=True) if each.status is None else each for each in answers]
