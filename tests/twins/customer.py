"""A customer of two sides, with a sender, a destination, and a check of its events."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scripts.load.fault_injection import FaultInjection, parse_rules
from scripts.load.promise_watch import MOST_SECONDS, PromiseWatch
from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked, read_received
from scripts.load.verify import DeliveryCheck, check_delivery, visible_ids, visible_in
from shared.contracts.ledger import GOOD_MS
from shared.contracts.scorecard import MinuteCard
from tests.harness.live_side import sending
from tests.harness.live_twins import LiveTwins
from tests.harness.waiting import eventually
from tests.twins.received_data import ReceivedData

RATE: Final = 300
"""Events a second while versions are released."""

BATCH: Final = 3
"""Events in a request: a hundred requests a second, which two cores carry beside two sides."""

_ARRIVE_SECONDS: Final = 300
_STEADY_SECONDS: Final = 20
_LOOK_SECONDS: Final = 5
_SETTLED_SECONDS: Final = 300


class Customer:
    """Sends to both sides' one port, `rate` events per second, `batch` a request, while `busy`.

    The rate is a share of the usual load: `--load-percent` of it are sent.
    """

    def __init__(self, live: LiveTwins, name: str, folder: Path, rate: int, batch: int = 1) -> None:
        """Acknowledged and arrived events are written to files in `folder`."""
        self.name, self._live, self._batch = name, live, batch
        self._rate = rate * live.load_percent // 100
        self.data = ReceivedData()
        self._acked, self._received = folder / f"{name}-acked.tsv", folder / f"{name}-received.tsv"
        self._receiver = Receiver(out=self._received, on_body=self.data.take)
        self._counts = self._receiver.counts(f"/{name}")

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Send events within the block; at its end all acknowledged ones have arrived."""
        with running(self._receiver) as receiver:
            self._live.apply(*self._documents(f"{receiver.url}/{self.name}"))
            url, key = self._live.twins.edge.events_url, f"{self.name}-key"
            with sending(url, key=key, rate=self._rate, batch=self._batch, acked=self._acked, seconds=3_600):
                self._in_time()
                yield
            promised = {row.event_id for row in read_acked(self._acked)}
            eventually(lambda: promised <= self._counts.seen, _ARRIVE_SECONDS, "all events arrive", every=1)

    def refuse_some(self, rule: str, requests: int) -> None:
        """Refuse requests by a rule of fault injection until enough were refused, and none afterwards."""
        refused = self._receiver.requests.misbehaved + requests
        self._receiver.misbehaviour = parse_rules([rule])
        eventually(lambda: self._receiver.requests.misbehaved >= refused, 300, f"{rule} is answered")
        self._receiver.misbehaviour = FaultInjection()

    def steady(self) -> None:
        """Wait until as many more events have arrived as come in a while."""
        wanted = self._counts.distinct + _STEADY_SECONDS * self._rate
        eventually(lambda: self._counts.distinct > wanted, 300, f"{self.name}: events flow")

    def _in_time(self) -> None:
        """Wait until the serving side is warm: no person would release beside a side that still compiles."""
        began, promise = time.monotonic(), PromiseWatch()
        self._counts.recent.take()
        while not promise.kept:
            late = f"{self.name}: p95 is over {GOOD_MS:,} ms after {MOST_SECONDS:.0f} s"
            assert time.monotonic() < began + MOST_SECONDS, late
            time.sleep(_LOOK_SECONDS)
            promise.arrived(self._counts.recent.take().p95)
        sys.stdout.write(f"{self.name}: in time after {time.monotonic() - began:.0f} s\n")

    def check(self) -> DeliveryCheck:
        """Check the events; the test's output shows the result, with the minutes that broke a promise.

        The meters of all running sides must count no loss either, and each event's last arrival must have the
        bytes that were sent.
        """
        sides = self._live.twins.sides
        waiting = {each for side in sides for each in visible_in(self.name, visible_ids(side.bootstrap))}
        acked = [row.event_id for row in read_acked(self._acked)]
        check = check_delivery(acked, [row.event_id for row in read_received(self._received)], waiting)
        cards = self._live.minutes_of_both(self.name)
        settled = [card for card in cards if card.settled]
        spent = {card.minute for card in settled if card.spent}
        sys.stdout.write(
            f"{self.name}: acked {check.acked:,}, lost {len(check.lost)}, doubled {check.duplicated}, "
            f"arrived changed {self.data.changed}, minutes spent {len(spent)} of the "
            f"{len({card.minute for card in settled})} that are settled\n"
        )
        assert not self.data.wrong
        assert sum(card.lost for card in cards) == 0
        return check

    def settled_cards(self) -> Sequence[MinuteCard]:
        """The running sides' cards, once all of the customer's minutes are settled."""

        def found() -> Sequence[MinuteCard]:
            cards = self._live.minutes_of_both(self.name)
            return cards if all(card.settled for card in cards) else ()

        return list(eventually(found, _SETTLED_SECONDS, f"{self.name}: all minutes are settled", every=2))

    def settled_until(self, minute: int) -> Sequence[MinuteCard]:
        """Cards up to an epoch minute, once it is settled on both sides, which both have later events."""

        def found() -> Sequence[MinuteCard]:
            of_sides = [self._live.minutes(side.name, self.name) for side in self._live.twins.sides]
            if not all(_is_settled(cards, minute) for cards in of_sides):
                return ()
            return [card for cards in of_sides for card in cards if card.minute <= minute]

        what = f"{self.name}: minute {minute} is settled on both sides"
        return list(eventually(found, _SETTLED_SECONDS, what, every=2))

    def _documents(self, url: str) -> list[dict[str, object]]:
        own = {"name": self.name, "tenant": self.name}
        return [
            {"kind": "source", **own, "write_keys": [f"{self.name}-key"]},
            {"kind": "destination", **own, "options": {"url": url}},
            {"kind": "pipe", **own, "source": self.name, "destination": self.name},
        ]


def _is_settled(cards: Sequence[MinuteCard], minute: int) -> bool:
    """Whether a side has judged a minute and all before it; without events in it, a later minute."""
    open_ = any(card.minute <= minute and not card.settled for card in cards)
    return not open_ and any(card.minute >= minute and card.settled for card in cards)
