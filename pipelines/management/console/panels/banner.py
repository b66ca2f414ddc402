"""Whether the figures can be trusted: how old they are, and how far the meter is behind."""

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import badge, write
from pipelines.management.console.poller import PollState


def status(state: PollState) -> Markup:
    """A few words for the head of the page."""
    if state.look is None:
        return badge("no figures yet", "missed" if state.failure else "none")
    at = f"as of {formatting.clock_time(state.look.at_ms)} UTC"
    if state.failure:
        return joined(badge("meter unreachable", "far"), tag("span", at, class_="quiet"))
    if state.look.now.behind:
        return joined(badge("meter behind", "missed"), tag("span", at, class_="quiet"))
    return joined(badge("meter up to date", "kept"), tag("span", at, class_="quiet"))


def banner(state: PollState) -> Markup:
    """What is to be known before any figure is read; empty when all is well."""
    if state.failure:
        return _banner("unreachable", "The meter cannot be read.", _unreachable(state))
    if state.look is not None and state.look.now.behind:
        behind = formatting.duration(state.look.now.behind_seconds)
        return _banner("behind", f"The meter is {behind} behind.", "The newest events are not counted yet.")
    return Markup()


def _unreachable(state: PollState) -> str:
    if state.look is None:
        return f"{state.failure}. Check that observe runs: hifi doctor."
    age = formatting.duration(state.age_seconds)
    return f"{state.failure}. The figures below are those of {age} ago. Check that observe runs: hifi doctor."


def _banner(name: str, title: str, text: str) -> Markup:
    return tag(
        "div",
        tag("b", title),
        " ",
        text,
        class_=f"banner {name}",
        role="status",
        data_testid=f"banner-{name}",
    )


class Banner:
    """The line under the head of the page."""

    def __init__(self) -> None:
        self._html = write(Markup(), "notice")

    def show(self, state: PollState) -> None:
        """Bring it up to date."""
        self._html.content = banner(state)
