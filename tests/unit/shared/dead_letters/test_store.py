"""Which letters count as replayed, regardless of the clock. The readers are simulated."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, Final

import pytest
from confluent_kafka import Message

from shared.contracts.replays import LetterKey, Replay
from shared.contracts.topics import KEPT, Topic
from shared.dead_letters import store as store_module
from shared.dead_letters.replayed import ReplayedLetters
from shared.dead_letters.store import DeadLetterStore
from shared.kafka.offset_range_reader import OffsetRange

NOW: Final = 1_800_000_000_000
LETTERS: Final = (1 << 14) + 1
"""One block of letters, which are forgotten together, plus one."""


class Reader:
    """A reader that has all letters, written just now."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def whole(self, topics: Iterable[Topic]) -> list[OffsetRange]:
        return [OffsetRange(topic, 0, 0, LETTERS if topic == Topic.DEAD_LETTER else 0) for topic in topics]

    def since(self, spans: Iterable[OffsetRange], at_ms: int) -> list[OffsetRange]:
        return [span._replace(start=span.end if at_ms > NOW else span.start) for span in spans]

    def read(self, _spans: Iterable[OffsetRange]) -> Iterator[Message]:
        yield from ()


def test_a_clock_that_is_ahead_for_a_moment_makes_no_replayed_letter_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_module, "OffsetRangeReader", Reader)
    first, replayed = LetterKey(0, 0, NOW), ReplayedLetters()
    replayed.add(Replay(at_ms=NOW, letters=[first]))
    opened: dict[str, Any] = {"bootstrap": "", "leads_to": {}, "replayed": replayed}
    ahead = NOW + (KEPT + timedelta(days=1)) // timedelta(milliseconds=1)
    with DeadLetterStore(clock=lambda: ahead, **opened) as store:
        assert sum(span.records for span in store.spans) == 0, "none is young enough by that clock"
    with DeadLetterStore(clock=lambda: NOW, **opened) as store:
        assert sum(span.records for span in store.spans) == LETTERS
        assert first in store.replayed
