"""The dialog of a day shows the day that was selected last, whichever answer comes first."""

import asyncio

from nicegui import Client, ui

from pipelines.management.console.formatting import first_minute
from pipelines.management.console.observe_client import ObserveClient
from pipelines.management.console.panels.details import Details
from pipelines.management.console.poller import View
from shared.contracts.scorecard import DayCard, MinuteMark, SpentMinute

SLOW, QUICK = "2026-11-20", "2026-11-21"


class TwoDays(ObserveClient):
    """Explains the spent minutes of each day; the slow day's marks come when the test permits it."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def day(self, tenant: str, day: str) -> DayCard:
        return DayCard(tenant=tenant, day=day, spent=[SpentMinute(minute=first_minute(day), why=[day])])

    async def marks(self, tenant: str, day: str) -> list[MinuteMark]:
        if day == SLOW:
            await self.go_on.wait()
        return []


def test_an_answer_about_a_day_that_was_left_changes_nothing() -> None:
    async def shown() -> str:
        client = TwoDays()
        with Client(ui.page("/")) as shows:
            details = Details(client, View("acme", 1), lambda: first_minute(QUICK) * 60_000)
            slow = asyncio.create_task(details.day(SLOW))
            await asyncio.sleep(0)
            await details.day(QUICK)
            client.go_on.set()
            await slow
            return " ".join(str(each.props.get("innerHTML", "")) for each in shows.elements.values())

    html = asyncio.run(shown())
    assert QUICK in html and SLOW not in html
