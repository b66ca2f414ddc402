"""Minutes, days and ids for tests of observe."""

from datetime import UTC, datetime
from typing import Any

from shared.contracts.envelope import MINUTE_MS
from shared.runtime.clock import wall_clock
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually


def ids(start: int, end: int) -> list[str]:
    return [f"e{number}" for number in range(start, end)]


def recent() -> int:
    """A completed minute of the present day: a test near midnight waits no day."""
    return wall_clock() // MINUTE_MS - 2


def day_of(minute: int) -> str:
    return datetime.fromtimestamp(minute * 60, UTC).date().isoformat()


def settled(observe: ObserveProcess, minute: int, tenant: str = "acme") -> Any:
    """A minute's card once it is settled."""
    eventually(lambda: observe.card(minute, tenant)["settled"])
    return observe.card(minute, tenant)
