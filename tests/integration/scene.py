"""A load from collect to one destination, with an incident on the side in its middle."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.load.receiver import PathCounts, Receiver, running
from scripts.load.records import Received, read_acked, read_received
from scripts.load.verify import DeliveryCheck, check_delivery, visible_ids, visible_in
from tests.harness.live_side import LiveSide, sending
from tests.harness.waiting import eventually

KEY = "integration-faults"
RATE = 400
BATCH = 10
BEFORE_SECONDS = 4
AFTER_SECONDS = 6
RECOVER_SECONDS = 600
"""Time limit for a side to start again after all its processes were killed."""


class End:
    """The destination of all scenarios: its file and its counts."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.receiver = Receiver(out=file)

    @property
    def tally(self) -> PathCounts:
        return self.receiver.counts("/faults")


class Scene:
    """A load from collect to one destination, recorded at both ends."""

    def __init__(self, live: LiveSide, end: End, folder: Path, rate: int = RATE) -> None:
        """`rate`: events per second."""
        self.live, self._rate = live, rate
        self.acked_file = folder / "acked.tsv"
        self._end = end
        self._began_ms = time.time_ns() // 1_000_000

    def acked(self) -> set[str]:
        return {row.event_id for row in read_acked(self.acked_file)} if self.acked_file.exists() else set()

    def received(self) -> list[Received]:
        """Ids that arrived since the scenario started; the receiver's file lags a little."""
        return [row for row in read_received(self._end.file) if row.received_ms >= self._began_ms]

    def run(
        self, inject: Callable[[], None], before: float = BEFORE_SECONDS, after: float = AFTER_SECONDS
    ) -> DeliveryCheck:
        """Send a load, cause the fault, send more, until every acknowledged event arrived or is visible.

        Before and after the fault the scene waits for as many arrivals as are sent in the given seconds.
        """
        with sending(self.live.url, key=KEY, rate=self._rate, batch=BATCH, acked=self.acked_file):
            self.flows(before)
            inject()
            self.flows(after)
        seen = self._end.tally.seen
        try:
            eventually(
                lambda: self.acked() <= seen, RECOVER_SECONDS, "all acknowledged events arrive", every=0.5
            )
        except AssertionError:
            missing = self.acked() - seen
            assert not missing - self.visible(), f"lost {len(missing)} of {len(self.acked())}"
        counted = self.acked() & seen
        eventually(
            lambda: counted <= {row.event_id for row in self.received()}, 120, "the receiver's file has them"
        )
        return check_delivery(self.acked(), [row.event_id for row in self.received()], self.visible())

    def visible(self) -> set[str]:
        """Ids that wait in the retry and dead-letter topics."""
        return visible_in("faults", visible_ids(self.live.bootstrap))

    def flows(self, seconds: float) -> None:
        """Wait for as many further arrivals as are sent in `seconds`."""
        goal = self._end.tally.distinct + seconds * self._rate
        eventually(lambda: self._end.tally.distinct >= goal, RECOVER_SECONDS, "events flow", every=0.1)


@contextmanager
def end_with_a_pipe(live: LiveSide, file: Path) -> Iterator[End]:
    """A destination with a pipe in force; received events go to `file`."""
    found = End(file)
    with running(found.receiver) as receiver:
        live.apply(
            {"kind": "source", "name": "faults", "tenant": "faults", "write_keys": [KEY]},
            {
                "kind": "destination",
                "name": "faults",
                "tenant": "faults",
                "options": {"url": f"{receiver.url}/faults"},
            },
            {
                "kind": "pipe",
                "name": "faults",
                "tenant": "faults",
                "source": "faults",
                "destination": "faults",
            },
        )
        # Until route has the pipe, its events match nothing: send some until one arrives.
        eventually(
            lambda: post_one(live.url) == 202 and found.tally.arrivals, 120, "the pipe is live", every=0.5
        )
        yield found


def post_one(url: str) -> int:
    """The status of a request with one event."""
    request = urllib.request.Request(
        f"{url}/v1/events",
        data=b'{"while": "brokers are gone"}',
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=90) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code
