"""A release, a patch of brokers and a switch on two sides, while the demo's events flow through them."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from rich.console import RenderableType

from scripts.deployer.activities import activity_register
from scripts.deployer.client import DeployerClient
from scripts.deployer.side_address import stability_of
from scripts.deployer.view import sides_view
from scripts.load.promise_watch import KEPT_SECONDS, MOST_SECONDS, PromiseWatch
from scripts.local.processes.programs import BROKERS
from scripts.local.side import Side
from scripts.local.twins.broker_restart import restart_broker
from scripts.local.twins.place import Twins
from scripts.local.twins.versions import commit_of
from scripts.scorecard.both_sides import spent_together
from scripts.scorecard.observe_client import ObserveError, query_observe
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import GOOD_MS
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release
from shared.contracts.scorecard import MinuteFigures
from shared.dynamodb.activity_register import ActivityRegister
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError

_TENANT: Final = "demo"
_STEADY_SECONDS: Final = 15.0
_RELEASE_SECONDS: Final = 1_800.0
_LOOK_SECONDS: Final = 1.0
_PATCH: Final = "a patch of the brokers"
_PATCH_SECONDS: Final = 1_800.0


class _StoppedError(Exception):
    """The demo is over."""


class Story:
    """A release, a patch of brokers and a switch while events flow, in a thread of its own."""

    def __init__(self, twins: Twins) -> None:
        self._twins, self._client = twins, DeployerClient(twins.root, wall_clock)
        self._cards: dict[tuple[str, int], MinuteFigures] = {}
        """The last known card of each side and minute."""

        self._since = self._judged_from = wall_clock() // MINUTE_MS
        """Epoch minutes."""

        self._promise = PromiseWatch()
        self._doubled = 0
        self.doubled_cold = 0
        """Events that arrived twice before the first side was warm: a cold one repeats requests in vain."""

        self.chapter = "events flow through one side"
        self.over = False
        """Whether it came to its end."""

        self.problem: OperatorError | None = None
        self._stopped = threading.Event()

    @property
    def spent(self) -> int:
        """Minutes that broke a promise of the customer, by both sides' cards, once the first was warm."""
        return sum(minute >= self._judged_from for minute in self._spent_minutes())

    @property
    def spent_cold(self) -> int:
        """Those before."""
        return sum(minute < self._judged_from for minute in self._spent_minutes())

    def arrived(self, p95_ms: int | None, doubled: int) -> None:
        """Take in figures of the load.

        Args:
            p95_ms: of the events since the last figures; None if none arrived.
            doubled: events that have arrived twice, since the beginning.
        """
        self._promise.arrived(p95_ms)
        self._doubled = doubled

    def sides(self) -> RenderableType:
        """Both sides as the deployer sees them."""
        return sides_view(self._client.look(0).sides)

    def run(self) -> None:
        """Release the last commit, patch the brokers of the side that is dark then, and switch back."""
        try:
            self._until_warm()
            self._release(Kind.DEPLOY, commit_of("HEAD"))
            self._patch_brokers()
            self._release(Kind.SWITCH)
            self._steady()
            self._look()
            self.over = True
        except _StoppedError:
            return
        except OperatorError as error:
            self.problem = error

    def stop(self) -> None:
        """Let it end at its next pause: a broker that is being restarted runs again then."""
        self._stopped.set()

    def _pause(self) -> None:
        self._look()
        if self._stopped.wait(_LOOK_SECONDS):
            raise _StoppedError

    def _spent_minutes(self) -> Sequence[int]:
        return spent_together(card for card in self._cards.values() if card.settled)

    def _until_warm(self) -> None:
        """A side that still compiles has no time for a second one, and no person would release beside it."""
        until = time.monotonic() + MOST_SECONDS
        warm = f"p95 within {GOOD_MS:,} ms for {KEPT_SECONDS:.0f} s"
        self.chapter = f"events flow through one side, until it is warm: {warm}"
        while not self._promise.kept:
            self._pause()
            if time.monotonic() > until:
                found = f"the side is not warm after {MOST_SECONDS:.0f} s: that would be {warm}"
                raise OperatorError(found, "end other programs, or try a lower --rate")
        self._judged_from = wall_clock() // MINUTE_MS + 1
        self.doubled_cold = self._doubled

    def _steady(self) -> None:
        until = time.monotonic() + _STEADY_SECONDS
        while time.monotonic() < until:
            self._pause()

    def _release(self, kind: Kind, version: str = "") -> None:
        asked = self._client.ask(kind, version)
        release, until = asked, time.monotonic() + _RELEASE_SECONDS
        while not release.ended:
            self._pause()
            release = self._client.current() or release
            self.chapter = _said(release)
            if time.monotonic() > until:
                raise OperatorError(f"{kind} not over within {_RELEASE_SECONDS:.0f} s: {self.chapter}")
        if release.step is not Step.DONE:
            raise OperatorError(
                f"the {kind} was undone: {release.back}", "`hifi sides --releases 1` shows why"
            )

    def _patch_brokers(self) -> None:
        light = Side.load(self._twins.root).name
        dark = next(side for side in self._twins.sides if side.name != light)
        with activity_register(dark.root) as register:
            begun = self._begun(register, dark)
            try:
                self._restart_brokers(dark)
            finally:
                register.end(begun)

    def _begun(self, register: ActivityRegister, dark: Side) -> Activity:
        try:
            return self._begun_in_turn(register, dark)
        except _StoppedError:
            register.withdraw(Action.MAINTAIN)  # a wish holds up others for as long as the patch would
            raise

    def _begun_in_turn(self, register: ActivityRegister, dark: Side) -> Activity:
        while True:
            found = register.begin(
                Action.MAINTAIN, _PATCH, stability_of(dark.root), lease_seconds=_PATCH_SECONDS
            )
            if isinstance(found, Activity):
                return found
            self.chapter = f"{_PATCH} of {dark.name} waits: {'; '.join(found.reasons)}"
            self._pause()

    def _restart_brokers(self, dark: Side) -> None:
        for broker in BROKERS:
            self.chapter = f"{broker} of {dark.name} is restarted, as for a patch"
            restart_broker(dark, broker)
            self._pause()

    def _look(self) -> None:
        """Ask each side that runs for the demo's minutes; those of a parked one are known from before."""
        asked: dict[str, str | int] = {"tenant": _TENANT, "from": self._since, "hops": "false"}
        for side in self._twins.sides:
            with suppress(ObserveError):
                cards = query_observe(side.observe_url, "/v1/minutes", list[MinuteFigures], **asked)
                self._cards |= {(side.name, card.minute): card for card in cards}


def _said(release: Release) -> str:
    waits = f"; waits: {release.waits[0]}" if release.waits else ""
    return f"{release.kind} to {release.target or 'the dark side'}: {release.step} {release.said}{waits}"
