"""Routes of a tenant's own meter: what observe knows of it, under the same tokens."""

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Response

from pipelines.management.api.declared import Text, route
from pipelines.management.api.observe_client import ObserveClient
from pipelines.management.api.problems import NotBegunError, ProblemError, busy, tenant_busy
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.permissions import Action
from shared.contracts.alarms import Alarm
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.scorecard import DayCard, DayMark, EventSearch, MinuteCard, Now
from shared.contracts.skew import FieldSkew
from shared.runtime.concurrency_limit import TenantConcurrencyLimit

AT_ONCE: Final = 8
"""Requests, searches among them, that a process handles at the same time: an observe that hangs holds the
thread of each for seconds."""

OF_TENANT: Final = 4
SEARCHES_AT_ONCE: Final = 2
"""Each holds a thread for as long as observe reads topics: they must not take those of other requests."""

SEARCHES_OF_TENANT: Final = 1
_AGAIN_SECONDS: Final = 1
_SEARCH_AGAIN_SECONDS: Final = 5

_MOST_BYTES: Final = 1_024
"""Most bytes of a parameter: observe has none that long, and HTTP clients refuse very long URLs."""

_ROOT: Final = "/v1/tenants/{tenant}/meter"
Ask = Callable[[str, str, Mapping[str, str | None]], bytes]
"""Asks observe about a tenant: a path, and parameters."""


def meter_routes(observe: ObserveClient, access: Access) -> APIRouter:
    """The routes. Handlers run on threads: they wait for observe."""
    router = APIRouter(dependencies=[Depends(access.guard(Action.READ))])
    bounded = _BoundedObserve(observe)
    answer = bounded.answer

    @router.get(_ROOT + "/now", **route(200, answers=[Now]))
    def now(tenant: str) -> Response:
        return answer(tenant, "/v1/now")

    @router.get(_ROOT + "/minutes", **route(200, answers=[list[MinuteCard]]))
    def minutes(
        tenant: str,
        first: Annotated[str | None, Query(alias="from")] = None,
        last: Annotated[str | None, Query(alias="to")] = None,
    ) -> Response:
        return answer(tenant, "/v1/minutes", **{"from": first, "to": last})

    @router.get(_ROOT + "/minutes/{minute}", **route(200, answers=[MinuteCard]))
    def minute(tenant: str, minute: str) -> Response:
        return answer(tenant, f"/v1/minutes/{_step('minute', minute)}")

    @router.get(_ROOT + "/days/{day}", **route(200, answers=[DayCard]))
    def day(tenant: str, day: str) -> Response:
        return answer(tenant, f"/v1/days/{_step('day', day)}")

    @router.get(_ROOT + "/calendar", **route(200, answers=[list[DayMark]]))
    def calendar(tenant: str, days: Text = None) -> Response:
        return answer(tenant, "/v1/calendar", days=days)

    @router.get(_ROOT + "/destinations", **route(200, answers=[list[DestinationHealth]]))
    def destinations(tenant: str) -> Response:
        return answer(tenant, "/v1/destinations")

    @router.get(_ROOT + "/skew", **route(200, answers=[list[FieldSkew]]))
    def skew(tenant: str) -> Response:
        return answer(tenant, "/v1/skew")

    @router.get(_ROOT + "/alarms", **route(200, answers=[list[Alarm]]))
    def alarms(tenant: str, is_open: Annotated[str | None, Query(alias="open")] = None) -> Response:
        return answer(tenant, "/v1/alarms", open=is_open)

    @router.get(_ROOT + "/events/{event_id:path}", **route(200, answers=[EventSearch]))
    def event(tenant: str, event_id: str, since: Text = None) -> Response:
        return bounded.search(tenant, f"/v1/events/{_step('event_id', event_id)}", since=since)

    return router


class _BoundedObserve:
    """Passes on observe's answers, for a few requests at a time."""

    def __init__(self, observe: ObserveClient) -> None:
        self._observe = observe
        self._limit = TenantConcurrencyLimit(
            AT_ONCE, OF_TENANT, partial(busy, _AGAIN_SECONDS), partial(tenant_busy, _AGAIN_SECONDS)
        )
        self._searches = TenantConcurrencyLimit(
            SEARCHES_AT_ONCE, SEARCHES_OF_TENANT, _searching, partial(tenant_busy, _SEARCH_AGAIN_SECONDS)
        )

    def answer(self, tenant: str, path: str, **query: str | None) -> Response:
        """Observe's answer to a request with a tenant's name and these parameters."""
        return self._passed_on(self._observe.get, tenant, path, query)

    def search(self, tenant: str, path: str, **query: str | None) -> Response:
        """The same, of a search of topics."""
        with self._searches.permit(tenant):
            return self._passed_on(self._observe.search, tenant, path, query)

    def _passed_on(self, ask: Ask, tenant: str, path: str, query: Mapping[str, str | None]) -> Response:
        for name, text in query.items():
            _refuse_long(name, text or "")
        with self._limit.permit(tenant):
            return Response(ask(tenant, path, query), media_type="application/json")


def _step(name: str, text: str) -> str:
    """A parameter as a step of a path; `.` and `..` would be another path."""
    _refuse_long(name, text)
    if text in (".", ".."):
        raise ProblemError(HTTPStatus.BAD_REQUEST, f"{name}: it cannot be {text!r}")
    return quote(text, safe="")


def _refuse_long(name: str, text: str) -> None:
    if len(text.encode()) > _MOST_BYTES:
        raise ProblemError(HTTPStatus.BAD_REQUEST, f"{name}: give at most {_MOST_BYTES:,} bytes")


def _searching() -> NotBegunError:
    said = f"{SEARCHES_AT_ONCE} searches for events run already, which is the most at once; try again"
    return NotBegunError(said, retry_seconds=_SEARCH_AGAIN_SECONDS)
