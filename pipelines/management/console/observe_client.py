"""HTTP client for observe's API, with responses decoded to the contract's structs."""

from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self, TypeVar

import httpx
import msgspec

from pipelines.management.console.connections import connections
from shared.contracts.alarms import Alarm, QuietWindow
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.scorecard import DayCard, DayMark, MinuteCard, MinuteFigures, MinuteMark, Now
from shared.contracts.skew import FieldSkew
from shared.contracts.timeline import Timeline

T = TypeVar("T")
_CONNECTIONS: Final = 8


class UnreachableError(Exception):
    """observe did not answer, or its response cannot be decoded; the text gives the cause."""


class RefusedError(Exception):
    """observe refused a request; its text names the field."""


class ObserveClient:
    """An async context manager."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url.rstrip("/")
        self._http = connections(self.url, timeout, _CONNECTIONS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def tenants(self) -> list[str]:
        """Tenants that had events."""
        return await self._get("/v1/tenants", list[str])

    async def now(self, tenant: str) -> Now:
        """The current figures."""
        return await self._get("/v1/now", Now, {"tenant": tenant})

    async def minutes(self, tenant: str, first: int, last: int) -> list[MinuteFigures]:
        """The epoch minutes with events from `first` to `last`, both included, without their hops."""
        query = {"tenant": tenant, "from": str(first), "to": str(last), "hops": "false"}
        return await self._get("/v1/minutes", list[MinuteFigures], query)

    async def timeline(self, first: int, last: int) -> Timeline:
        """The activities on the side, and its stability, in these epoch minutes, both included."""
        return await self._get("/v1/timeline", Timeline, {"from": str(first), "to": str(last)})

    async def minute(self, tenant: str, minute: int) -> MinuteCard:
        """One minute's card, with the ids of lost and doubled events."""
        return await self._get(f"/v1/minutes/{minute}", MinuteCard, {"tenant": tenant})

    async def day(self, tenant: str, day: str) -> DayCard:
        """A day's card."""
        return await self._get(f"/v1/days/{day}", DayCard, {"tenant": tenant})

    async def days(self, tenant: str, days: int) -> list[DayMark]:
        """The last days with their nines."""
        return await self._get("/v1/calendar", list[DayMark], {"tenant": tenant, "days": str(days)})

    async def marks(self, tenant: str, day: str) -> list[MinuteMark]:
        """A day's minutes."""
        return await self._get(f"/v1/calendar/{day}", list[MinuteMark], {"tenant": tenant})

    async def destinations(self, tenant: str) -> list[DestinationHealth]:
        """Destinations with their health."""
        return await self._get("/v1/destinations", list[DestinationHealth], {"tenant": tenant})

    async def skews(self, tenant: str) -> list[FieldSkew]:
        """Watched fields against the days before."""
        return await self._get("/v1/skew", list[FieldSkew], {"tenant": tenant})

    async def alarms(self, tenant: str) -> list[Alarm]:
        """Open alarms and recent resolved ones."""
        return await self._get("/v1/alarms", list[Alarm], {"tenant": tenant})

    async def quiet(self, tenant: str) -> list[QuietWindow]:
        """Current and future quiet windows."""
        return await self._get("/v1/quiet", list[QuietWindow], {"tenant": tenant})

    async def add_quiet(self, window: QuietWindow) -> None:
        """Add a quiet window."""
        await self._ask("POST", "/v1/quiet", content=msgspec.json.encode(window))

    async def remove_quiet(self, window_id: str) -> None:
        """Remove a quiet window."""
        await self._ask("DELETE", f"/v1/quiet/{window_id}")

    async def _get(self, path: str, kind: type[T], query: Mapping[str, str] | None = None) -> T:
        answer = await self._ask("GET", path, query=query)
        try:
            return msgspec.json.decode(answer, type=kind)
        except msgspec.MsgspecError as error:
            raise UnreachableError(f"{self.url}{path}: unexpected response: {error}") from error

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None = None, content: bytes | None = None
    ) -> bytes:
        headers = {"Content-Type": "application/json"} if content is not None else None
        try:
            answer = await self._http.request(method, path, params=query, content=content, headers=headers)
        except httpx.HTTPError as error:
            raise UnreachableError(f"{self.url} does not answer: {error or type(error).__name__}") from error
        if answer.is_success:
            return answer.content
        problem = _error_text(answer.content) or f"status {answer.status_code}"
        if answer.is_client_error:
            raise RefusedError(problem)
        raise UnreachableError(f"{self.url}{path}: {problem}")


class _Error(msgspec.Struct):
    error: str


def _error_text(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Error).error
    except msgspec.MsgspecError:
        return ""
