"""Why the events that wait for a destination failed last. Pure.

A retry is tallied in the event's own minute, however old that is: no window over minutes has it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pipelines.control.observe.ledger.minute_sums import StageSums
from pipelines.control.observe.ledger.reconciliation_rules import Reconciliation
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute
from shared.contracts.documents import TenantName
from shared.contracts.envelope import HOUR_MS
from shared.contracts.ledger import Stage

FAILED: Final = (Stage.RETRYING, Stage.DEAD)
TRIED: Final = (Stage.DELIVERED, *FAILED)
_FORGOTTEN_MS: Final = 26 * HOUR_MS
"""An event waits for a day at most, so a delivery before that is before everything that waits."""


class Tried(NamedTuple):
    """Tries of one destination in one minute."""

    pipe: str
    stage: Stage
    line: StageSums
    waiting: int
    """Events of that pipe and minute that wait to be retried."""

    @property
    def waiting_by_reason(self) -> Mapping[str, int]:
        """Events by reason; one that waits counts once, however often it was tried."""
        if self.stage is not Stage.RETRYING:
            return self.line.reasons
        return {reason: min(tries, self.waiting) for reason, tries in self.line.reasons.items()}


class LastDeliveries:
    """Remembers when each destination was last delivered anything.

    The minute of that event may be settled, and be looked at no more, while others still wait.
    """

    def __init__(self) -> None:
        self.at_ms: dict[TenantName, int] = {}
        """Epoch milliseconds, by tenant and destination."""

    def take(self, parts: Iterable[JudgedMinute]) -> None:
        """Minutes that changed."""
        for part in parts:
            for (stage, _, destination), line in part.state.lines.items():
                if stage is Stage.DELIVERED:
                    key = part.state.tenant, destination
                    self.at_ms[key] = max(line.last_ms, self.at_ms.get(key, 0))

    def forget(self, now_ms: int) -> None:
        """Drop those of long ago."""
        oldest = now_ms - _FORGOTTEN_MS
        self.at_ms = {key: at_ms for key, at_ms in self.at_ms.items() if at_ms > oldest}


def waiting_in(part: JudgedMinute) -> Mapping[str, int]:
    """Events of a minute that wait to be retried, by pipe; pipes without any are left out."""
    verdicts = part.judgement.verdicts.items()
    return {
        key.pipe: verdict.waiting
        for key, verdict in verdicts
        if key.reconciliation is Reconciliation.RETRY and verdict.waiting
    }


def late_failures(tried: Iterable[Tried], delivered_ms: int, window_seconds: float) -> Sequence[Tried]:
    """The newest failures of minutes with waiting events, unless anything was delivered around them or since.

    Between two retries an hour apart they stay: nothing has shown that the destination is better.

    Args:
        tried: tries of one destination in minutes that are not settled.
        delivered_ms: when it was last delivered anything, epoch milliseconds.
        window_seconds: how long before the newest failure others count, and a delivery speaks against them.
    """
    failed = [each for each in tried if each.waiting and each.stage in FAILED]
    newest = max((each.line.last_ms for each in failed), default=0)
    since_ms = newest - window_seconds * 1_000
    if delivered_ms >= since_ms:
        return ()
    return [each for each in failed if each.line.last_ms >= since_ms]
