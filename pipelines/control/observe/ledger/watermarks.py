"""Watermarks: how much of its input each node has processed, so that missing events count as lost. Pure.

A node has processed its input up to the committed offsets of its group once audit has read everything that
the node had written by then. So a candidate (the group's offsets at one time) goes through steps. The goal of
a step is the end of some topics when the step begins; it is done when their reader has reached that.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from shared.contracts.topics import RETRY_DELAYS, TALLIED, Topic
from shared.contracts.topology import INPUTS, OUTPUTS

Partition = tuple[str, int]
"""Topic and partition."""

Offsets = Mapping[Partition, int]
_NONE: Final[Offsets] = {}

AUDIT: Final = "audit"
SLOW: Final = "transmit_slow"
_MOST: Final = 64
"""Most candidates of a node at a time, and most watermarks that are kept."""


class OffsetsSnapshot(NamedTuple):
    """Committed offsets and ends of topics; the groups were queried before the ends."""

    at_ms: int
    """Time before the first query, epoch milliseconds."""

    committed: Mapping[str, Offsets]
    """Committed offsets, by name of `topology.CHAIN_GROUPS`."""

    ends: Offsets
    covered: Offsets
    """How far audit has read, from the ledger."""

    expired: Offsets = _NONE
    """Partitions with records that expired before audit read them: where they begin now."""

    def reached(self, reader: str, goal: Offsets) -> bool:
        """Whether a group, or audit, has read up to a goal."""
        read = self.covered if reader == AUDIT else self.committed.get(reader, {})
        return all(read.get(place, 0) >= end for place, end in goal.items())

    @property
    def recreated(self) -> list[Partition]:
        """Partitions that audit has read further than they go: their topics were recreated."""
        return [place for place, end in self.ends.items() if self.covered.get(place, 0) > end]

    def ends_of(self, topics: Sequence[Topic]) -> Offsets:
        """The ends of these topics."""
        return {place: end for place, end in self.ends.items() if place[0] in topics}


class Watermark(NamedTuple):
    """At `at_ms` (epoch milliseconds) a node had processed all input before `offsets`."""

    at_ms: int
    offsets: Offsets


class Step(NamedTuple):
    """`reader` must reach the end of `topics`."""

    reader: str
    topics: tuple[Topic, ...]


class Chain(NamedTuple):
    """Where a node's candidates start, and the steps they go through."""

    start: Callable[[OffsetsSnapshot], Offsets]
    steps: tuple[Step, ...]


def _read_by(group: str) -> Callable[[OffsetsSnapshot], Offsets]:
    return lambda look: look.committed.get(group, {})


_SLOW_STEP: Final = Step(SLOW, INPUTS[SLOW])
_ASIDE: Final = (*RETRY_DELAYS, Topic.DEAD_LETTER)

WRITING: Final = "writing"
"""A second chain of transmit: its receipts against what it wrote to the retry and dead-letter topics."""

CHAINS: Final[Mapping[str, Chain]] = {
    "ingest": Chain(_read_by("ingest"), (Step(AUDIT, OUTPUTS["ingest"]),)),
    "route": Chain(_read_by("route"), (Step(AUDIT, OUTPUTS["route"]),)),
    "transmit": Chain(
        _read_by("transmit"), (_SLOW_STEP, Step(AUDIT, (Topic.RECEIPTS, *_ASIDE, Topic.QUARANTINE)))
    ),
    WRITING: Chain(
        # A batch writes its receipts and its other records one after the other, so it has to be complete.
        lambda look: look.ends_of((Topic.RECEIPTS,)),
        (Step("transmit", INPUTS["transmit"]), _SLOW_STEP, Step(AUDIT, (Topic.RECEIPTS, *_ASIDE))),
    ),
    "retry": Chain(_read_by("retry"), (Step(AUDIT, OUTPUTS["retry"]),)),
}


class _Candidate:
    """Offsets that go through the steps of a chain."""

    def __init__(self, offsets: Offsets, steps: Sequence[Step]) -> None:
        self.offsets = offsets
        self._steps = deque(steps)
        self._goal: Offsets | None = None

    def done(self, look: OffsetsSnapshot) -> bool:
        """Complete every step that can be completed now."""
        while self._steps:
            if self._goal is None:
                self._goal = look.ends_of(self._steps[0].topics)
            if not look.reached(self._steps[0].reader, self._goal):
                return False
            self._steps.popleft()
            self._goal = None
        return True


class _Following:
    """One node's candidates and watermarks."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._candidates: deque[_Candidate] = deque()
        self._newest: Offsets | None = None
        self.marks: list[Watermark] = []

    def set_back(self, now_ms: int) -> None:
        self.marks = [mark._replace(at_ms=min(mark.at_ms, now_ms)) for mark in self.marks]

    def take(self, look: OffsetsSnapshot, settle_ms: int) -> None:
        offsets = self._chain.start(look)
        if offsets != self._newest and len(self._candidates) < _MOST:
            self._candidates.append(_Candidate(offsets, self._chain.steps))
            self._newest = offsets
        while self._candidates and self._candidates[0].done(look):
            self.marks.append(Watermark(look.at_ms, self._candidates.popleft().offsets))
        self.marks = thinned(self.marks, look.at_ms - settle_ms)


def thinned(marks: list[Watermark], settled_ms: int) -> list[Watermark]:
    """The watermarks still needed: the last one up to `settled_ms`, and at most _MOST newer ones.

    If there are more, every second one is dropped; a minute then settles at the next one, a little later.
    """
    old = [mark for mark in marks if mark.at_ms <= settled_ms]
    young = marks[len(old) :]
    while len(young) > _MOST:
        young = young[:1] + young[2::2] if len(young) % 2 else young[1::2]
    return old[-1:] + young


class Watermarks:
    """The watermarks of all nodes, updated in each pass."""

    def __init__(self, settle_ms: int) -> None:
        self._settle_ms = settle_ms
        self._unread: deque[OffsetsSnapshot] = deque()
        self.read_to_ms = 0
        """Everything in the tallied topics at this time (epoch ms) has been tallied; 0 if unknown."""

        self._nodes = _followed()

    def resume(self, read_to_ms: int) -> None:
        """Start with what an earlier process knew of `read_to_ms`."""
        self.read_to_ms = read_to_ms

    def restart(self) -> None:
        """Forget all offsets, because a topic was recreated: old ones may never be reached, or are already.

        `read_to_ms` stays: what was there then is tallied.
        """
        self._unread.clear()
        self._nodes = _followed()

    def set_back(self, now_ms: int) -> None:
        """The clock was set back to now: the offsets so far are those of a moment before.

        What is tallied from now on came after them, whatever their own time says.
        """
        past_ms = now_ms - 1
        self.read_to_ms = min(self.read_to_ms, past_ms)
        self._unread = deque(look._replace(at_ms=min(look.at_ms, past_ms)) for look in self._unread)
        for node in self._nodes.values():
            node.set_back(past_ms)

    def take(self, look: OffsetsSnapshot) -> None:
        """Process the offsets of one pass."""
        if len(self._unread) < _MOST:
            self._unread.append(look)
        while self._unread and look.reached(AUDIT, self._unread[0].ends_of(TALLIED)):
            self.read_to_ms = self._unread.popleft().at_ms
        for node in self._nodes.values():
            node.take(look, self._settle_ms)

    @property
    def marks(self) -> Mapping[str, Sequence[Watermark]]:
        """The watermarks by node, oldest first."""
        return {name: tuple(node.marks) for name, node in self._nodes.items()}


def _followed() -> dict[str, _Following]:
    return {name: _Following(chain) for name, chain in CHAINS.items()}
