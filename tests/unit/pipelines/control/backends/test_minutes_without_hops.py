"""The deployer requests minutes without hops, and once more from an observe that does not know `hops`."""

import time

import msgspec
import pytest

from pipelines.control.backends.meter import MinuteUsage, minutes_of
from pipelines.control.deploy.backend import BackendError, RefusedError
from shared.contracts.scorecard import HopRow, MinuteCard, Node

NOW = int(time.time() // 60)
CARD = MinuteCard(
    tenant="*",
    minute=NOW - 5,
    settled=True,
    total=9,
    good=9,
    hops=[HopRow(node=Node.ROUTE, taken=9, given=9)],
)


class Observe:
    """Answers with one minute."""

    def __init__(self, refuses: str = "", fails: type[BackendError] = RefusedError) -> None:
        self.asked: list[str] = []
        self._refuses, self._fails = refuses, fails

    def ask(self, path: str) -> bytes:
        self.asked.append(path)
        if self._refuses and self._refuses in path:
            raise self._fails("unknown parameter `hops`")
        return msgspec.json.encode([CARD])


def minutes(observe: Observe) -> list[int]:
    found = minutes_of(observe.ask, NOW - 60, NOW - 1, lambda _: MinuteUsage())
    return [each.minute for each in found]


PATH = f"/v1/minutes?from={NOW - 60}&to={NOW - 1}"


def test_minutes_are_asked_for_without_their_hops() -> None:
    observe = Observe()
    assert minutes(observe) == [NOW - 5]
    assert observe.asked == [f"{PATH}&hops=false"]


def test_an_observe_of_an_earlier_version_is_asked_once_more() -> None:
    observe = Observe(refuses="hops")
    assert minutes(observe) == [NOW - 5]
    assert observe.asked == [f"{PATH}&hops=false", PATH]


def test_an_observe_that_is_silent_or_refuses_both_forms_is_not_asked_forever() -> None:
    away = Observe(refuses="hops", fails=BackendError)
    with pytest.raises(BackendError):
        minutes(away)
    assert len(away.asked) == 1
    strict = Observe(refuses="/v1/minutes")
    with pytest.raises(BackendError):
        minutes(strict)
    assert len(strict.asked) == 2
