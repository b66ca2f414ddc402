"""Live events of a pipe: what goes through it while the page is open, as it leaves."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

import msgspec
from nicegui import Client, ui

from pipelines.management.console import formatting
from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.frame import button, trail
from pipelines.management.console.pages.visit import Visit, refusal
from pipelines.management.console.panels.base import write
from shared.contracts.live_tail import Ended, LeftOut, Message, TailEnd, TailEvent, TailMessage
from shared.oidc.errors import ProviderAwayError

_KEPT: Final = 100
"""Events on the page; older ones leave it."""

_SHOWN: Final = 8_000
"""Characters of an event."""

_ENDS: Final = {
    TailEnd.TIME: "Ten minutes are over.",
    TailEnd.STORE: "The server lost its store. Start again in a moment.",
    TailEnd.PIPE: "The pipe was deleted.",
}


class LiveEvents:
    """The panel. It follows the pipe from the moment its browser is connected."""

    def __init__(self, visit: Visit, pipe: str, client: Client) -> None:
        self._visit, self._pipe, self._client = visit, pipe, client
        self._following: asyncio.Task[None] | None = None
        self._rows: deque[ui.html] = deque()
        with ui.element("div").classes("acts"):
            self._switch = button("Stop", self._switched, "switch")
            button("Clear", self._clear, "clear")
        self._said = write(Markup()).props("role=status data-testid=live-status")
        self._left_out = write(Markup())
        self._list = ui.element("div").classes("live").props("role=log aria-live=off data-testid=live")
        client.on_connect(self._begin)
        client.on_delete(self._stop)

    def _begin(self) -> None:
        """Start with the first connection; a later one may come after a stop."""
        if self._following is None:
            self._start()

    def _start(self) -> None:
        if self._following is None or self._following.done():
            self._say("Waiting for the server …")
            self._switch.text = "Stop"
            self._following = asyncio.create_task(self._follow())

    def _stop(self) -> None:
        if self._following is not None:
            self._following.cancel()

    def _switched(self) -> None:
        if self._following is not None and not self._following.done():
            self._stop()
            self._ended("Stopped.")
        else:
            self._start()

    def _clear(self) -> None:
        self._rows.clear()
        self._list.clear()

    async def _follow(self) -> None:
        with self._client:
            try:
                while await self._goes_on():
                    pass
            except ProblemError as error:
                self._ended(refusal(error))
            except (UnreachableError, ProviderAwayError) as error:
                self._ended(str(error))

    async def _goes_on(self) -> bool:
        """Follow a tail to its end; whether it ended with a token that the issuer has renewed since."""
        sessions, mine = self._visit.sessions, self._visit.session.id
        session = await sessions.renewed(mine)
        if session is not None:
            async with aclosing(self._visit.account.tail(self._visit.tenant, self._pipe)) as tail:
                if not await self._read(tail):
                    return False
            following = await sessions.renewed(mine)
            if following is not None and following.token != session.token:
                return True
        self._visit.sign_in()
        return False

    async def _read(self, tail: AsyncIterator[Message | None]) -> bool:
        """Show a tail; whether it ended because the session's token did."""
        async for message in tail:
            if self._visit.sessions.find(self._visit.session.id) is None:
                return True
            if message is not None and not self._show(message):
                return message.name == TailMessage.END and _reason(message) == TailEnd.TOKEN
        self._ended("The server ended it. Start again in a moment.")
        return False

    def _show(self, message: Message) -> bool:
        """Show a message; whether others follow."""
        match message.name:
            case TailMessage.START:
                self._say("Following. Events show here as they leave, at most ten a second.")
            case TailMessage.EVENT:
                self._add(msgspec.json.decode(message.data, type=TailEvent))
            case TailMessage.LEFT_OUT:
                left = msgspec.json.decode(message.data, type=LeftOut)
                least = "At least " if left.uncounted else ""
                self._left_out.content = tag(
                    "p", f"{least}{formatting.counted(left.events, 'event')} left out so far.", class_="note"
                )
            case TailMessage.END:
                reason = _reason(message)
                if reason != TailEnd.TOKEN:
                    self._ended(_ENDS.get(TailEnd(reason), reason))
                return False
        return True

    def _add(self, event: TailEvent) -> None:
        with self._list:
            row = write(_row(event), "live-event")
        row.move(target_index=0)
        self._rows.append(row)
        if len(self._rows) > _KEPT:
            self._rows.popleft().delete()

    def _say(self, text: str) -> None:
        self._said.content = tag("p", text)

    def _ended(self, text: str) -> None:
        self._say(text)
        self._switch.text = "Start"


def _reason(end: Message) -> str:
    """Why the server ended a tail."""
    return msgspec.json.decode(end.data, type=Ended).reason


def _row(event: TailEvent) -> Markup:
    head = tag(
        "p",
        tag("span", formatting.named_time(event.at_ms), class_="quiet"),
        tag("strong", event.id or formatting.NONE),
        tag("span", event.type or formatting.NONE),
        class_="live-head",
    )
    if event.shown is None:
        return joined(head, tag("p", event.problem.detail if event.problem else "not shown", class_="said"))
    text = formatting.beginning(event.shown.decode(), _SHOWN)
    return joined(head, tag("pre", text, class_="event", tabindex=0))


def show_live(visit: Visit, pipe: str, client: Client) -> None:
    """The page."""
    with ui.element("section").classes("card span-12"):
        steps = (("Pipes", visit.address("pipes")), (pipe, visit.address("pipes", pipe)), ("Live events", ""))
        write(trail(*steps))
        LiveEvents(visit, pipe, client)


def live_link(visit: Visit, pipe: str) -> Markup:
    """A link to the page."""
    return tag("a", "Live events", href=visit.address("pipes", pipe, "live"), class_="act plain")
