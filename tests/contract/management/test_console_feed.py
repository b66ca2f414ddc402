"""One polling loop serves all viewers of the same view; without viewers there is none."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web
from msgspec.structs import replace

from pipelines.management.console.observe_client import ObserveClient
from pipelines.management.console.poller import Pollers, PollState, View
from shared.contracts.scorecard import DayCard, HopRow, MinuteFigures, Node, Now, Percentiles
from shared.contracts.timeline import Timeline
from shared.runtime.clock import wall_clock
from tests.unit.pipelines.management.console.cards import card

HOPS = [HopRow(node=Node.TRANSMIT, pipe=f"p{number}", taken=1, given=1) for number in range(3)]
ACME = View("acme", 1)
LOOK_SECONDS = 0.05
IMPATIENT_SECONDS = 1.0


class Observe:
    """Answers as observe does, and counts its requests."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.broken, self.knows_hops = False, True
        self.sent_hops = 0
        self.timeline: Callable[[], Awaitable[web.Response]] | None = None
        """Answers timeline requests; None answers like the present version."""

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a request of any path."""
        self.asked[request.path] += 1
        if self.broken:
            return web.Response(status=503, text='{"error":"store: away; ask again"}')
        if request.path == "/v1/timeline" and self.timeline is not None:
            return await self.timeline()
        return web.Response(body=msgspec.json.encode(self._found(request)))

    def _found(self, request: web.Request) -> object:
        if request.path == "/v1/now":
            none = Percentiles()
            return Now(
                tenant="acme", at_ms=1, rate=1.0, end_to_end=none, inside=none, loss_percent=0.0, nines=None,
                behind_seconds=0.0, behind=False, open_alarms=0,
            )  # fmt: skip
        if request.path.startswith("/v1/days/"):
            return DayCard(tenant="acme", day=request.path.rpartition("/")[2])
        if request.path == "/v1/timeline":
            return Timeline()
        if request.path == "/v1/minutes":
            last = int(request.query["to"])
            found = [card(minute) for minute in (last - 59, last - 3) if minute >= int(request.query["from"])]
            if not self.knows_hops or request.query.get("hops") != "false":
                found = [replace(each, hops=HOPS) for each in found]
            self.sent_hops += sum(len(each.hops) for each in found)
            return found
        return []


@asynccontextmanager
async def feeds_of(observe: Observe, patience: float = 60.0) -> AsyncIterator[Pollers]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", observe.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        async with ObserveClient(f"http://127.0.0.1:{runner.addresses[0][1]}", patience) as client:
            yield Pollers(client, LOOK_SECONDS, wall_clock)
    finally:
        await runner.cleanup()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)


def test_all_who_watch_a_view_share_its_looks() -> None:
    async def main() -> None:
        observe = Observe()
        async with feeds_of(observe) as feeds:
            seen: list[list[PollState]] = [[], [], []]
            for states in seen:
                feeds.watch(ACME, states.append)
            await until(lambda: len(seen[0]) >= 3)
            assert feeds.watchers == 3
            assert observe.asked["/v1/now"] <= len(seen[0]) + 1
            assert seen[0] == seen[1] == seen[2]
            for states in seen:
                feeds.leave(ACME, states.append)

    asyncio.run(main())


def test_without_viewers_there_are_no_polls() -> None:
    async def main() -> None:
        observe = Observe()
        async with feeds_of(observe) as feeds:
            states: list[PollState] = []
            watcher = states.append
            feeds.watch(ACME, watcher)
            await until(lambda: states)
            feeds.leave(ACME, watcher)
            await asyncio.sleep(0)
            asked = observe.asked.copy()
            await asyncio.sleep(10 * LOOK_SECONDS)  # time for ten polls
            assert feeds.watchers == 0 and observe.asked == asked

    asyncio.run(main())


def test_slow_data_is_polled_once_a_minute_and_older_cards_are_kept() -> None:
    async def main() -> None:
        observe = Observe()
        async with feeds_of(observe) as feeds:
            states: list[PollState] = []
            feeds.watch(ACME, states.append)
            await until(lambda: len(states) >= 4)
            assert observe.asked["/v1/calendar"] == observe.asked["/v1/tenants"] == 1
            assert all(state.snapshot is not None and len(state.snapshot.cards) >= 2 for state in states)
            feeds.leave(ACME, states.append)

    asyncio.run(main())


@pytest.mark.parametrize("older", [False, True])
def test_a_look_neither_asks_for_hops_nor_keeps_those_of_an_older_observe(older: bool) -> None:
    async def main() -> None:
        observe = Observe()
        observe.knows_hops = not older
        async with feeds_of(observe) as feeds:
            states: list[PollState] = []
            feeds.watch(ACME, states.append)
            await until(lambda: states)
            feeds.leave(ACME, states.append)
            snapshot = states[0].snapshot
            assert snapshot is not None and {type(each) for each in snapshot.cards} == {MinuteFigures}
            assert observe.sent_hops == (3 * len(snapshot.cards) if older else 0)

    asyncio.run(main())


def test_a_failure_keeps_the_last_figures_and_ends_by_itself() -> None:
    async def main() -> None:
        observe = Observe()
        async with feeds_of(observe) as feeds:
            states: list[PollState] = []
            feeds.watch(ACME, states.append)
            await until(lambda: states)
            observe.broken = True
            await until(lambda: states[-1].failure)
            assert states[-1].snapshot is not None and "store: away; ask again" in states[-1].failure
            assert states[-1].age_seconds > 0
            observe.broken = False
            await until(lambda: not states[-1].failure)
            feeds.leave(ACME, states.append)

    asyncio.run(main())


async def unknown_path() -> web.Response:
    """The answer of an older observe."""
    return web.Response(status=404, text='{"detail":"Not Found"}')


async def too_late() -> web.Response:
    await asyncio.sleep(2 * IMPATIENT_SECONDS)
    return web.Response(text="{}")


@pytest.mark.parametrize("timeline", [unknown_path, too_late])
def test_figures_are_shown_without_a_timeline_if_observe_does_not_answer_it(
    timeline: Callable[[], Awaitable[web.Response]],
) -> None:
    async def main() -> None:
        observe = Observe()
        observe.timeline = timeline
        async with feeds_of(observe, IMPATIENT_SECONDS) as feeds:
            states: list[PollState] = []
            feeds.watch(ACME, states.append)
            await until(lambda: states and not states[-1].failure)
            found = states[-1].snapshot
            assert found is not None and len(found.cards) == 2
            assert found.timeline == Timeline()
            feeds.leave(ACME, states.append)

    asyncio.run(main())


def test_a_page_that_fails_does_not_end_the_looks_of_the_others() -> None:
    async def main() -> None:
        observe = Observe()
        async with feeds_of(observe) as feeds:
            states: list[PollState] = []

            def fails(_: PollState) -> None:
                raise RuntimeError("this page is broken")

            feeds.watch(ACME, fails)
            feeds.watch(ACME, states.append)
            await until(lambda: len(states) >= 3)
            feeds.leave(ACME, fails)
            feeds.leave(ACME, states.append)

    asyncio.run(main())
