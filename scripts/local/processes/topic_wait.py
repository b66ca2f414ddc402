"""Waits for the topics of a driver's queries, and says which are missing."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka import KafkaException

from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_LOOK_SECONDS: Final = 0.2
_QUIET_SECONDS: Final = 10.0
"""Brokers that start at the same time as the driver take so long."""

_AGAIN_SECONDS: Final = 60.0


def wait_for_topics(
    missing: Callable[[], Sequence[str]],
    stopping: threading.Event,
    monotonic: Callable[[], float] = time.monotonic,
) -> None:
    """Return once no topic is missing, or when the driver is to stop.

    After a while a log line names those that are missing, again each minute.

    Args:
        missing: names of topics without a leader; raises KafkaException if no broker answers.
        stopping: set when the driver is to stop.
        monotonic: returns seconds.
    """
    due = monotonic() + _QUIET_SECONDS
    while not stopping.is_set():
        names, error = _asked(missing)
        if not names and not error:
            return
        if monotonic() >= due:
            _log.warning("no query starts before all topics are there", extra=_fields(names, error))
            due = monotonic() + _AGAIN_SECONDS
        stopping.wait(_LOOK_SECONDS)


def _asked(missing: Callable[[], Sequence[str]]) -> tuple[Sequence[str], str]:
    try:
        return missing(), ""
    except KafkaException as error:
        return (), f"no broker answers: {error.args[0].str()}"


def _fields(names: Sequence[str], error: str) -> dict[str, str]:
    return {"error": error} if error else {"missing": ", ".join(names)}
