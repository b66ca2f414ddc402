"""One dead letter with its event, as text."""

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.pages.frame import LETTERS, button, trail
from pipelines.management.console.pages.replay import replayed
from pipelines.management.console.pages.visit import Visit
from pipelines.management.console.panels.base import write
from shared.contracts.api_answers.dead_letters import WholeLetter


def show_letter(visit: Visit, letter: WholeLetter) -> None:
    """The page."""

    async def replay() -> None:
        if await replayed(visit, [letter.letter]):
            ui.navigate.reload()

    with ui.element("section").classes("card span-12"):
        write(trail(("Dead letters", visit.address(LETTERS)), (letter.letter, "")))
        write(tag("dl", *_facts(letter), class_="letter"))
        write(joined(tag("h3", "The event as the pipe would send it now"), _event(letter)))
        if visit.session.identity.writes:
            with ui.element("div").classes("acts"):
                button("Replay …", replay, "replay", "main")


def _facts(letter: WholeLetter) -> list[Markup]:
    facts = {
        "Reason": letter.reason,
        "Status": letter.status,
        "Pipe": letter.pipe,
        "Destination": letter.destination,
        "Attempt": letter.attempt,
        "Died": _moment(letter.died_ms),
        "Received": _moment(letter.received_ms),
        "First try": _moment(letter.first_try_ms),
        "Last try": _moment(letter.last_try_ms),
        "Replayed": _moment(letter.replayed_ms),
        "Event id": letter.id,
        "Event type": letter.type,
        "Event source": letter.source,
        "Event time": letter.time,
    }
    shown = {name: formatting.NONE if value in (None, "") else str(value) for name, value in facts.items()}
    return [tag("div", tag("dt", name), tag("dd", text)) for name, text in shown.items()]


def _moment(at_ms: int | None) -> str | None:
    return None if at_ms is None else formatting.named_moment(at_ms)


def _event(letter: WholeLetter) -> Markup:
    if letter.problem is not None:
        return tag("p", f"It is not shown: {letter.problem.detail}", class_="said", data_testid="withheld")
    return tag("pre", bytes(letter.event).decode(), class_="event", tabindex=0, data_testid="event")
