"""The banner: how old the figures are, and whether the meter is behind or unreachable."""

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import badge, write
from pipelines.management.console.poller import PollState


def status(state: PollState) -> Markup:
    """The status line at the top of the page."""
    if state.snapshot is None:
        return badge("no figures yet", "missed" if state.failure else "none")
    at = f"as of {formatting.named_time(state.snapshot.at_ms)}"
    if state.failure:
        return joined(badge("meter unreachable", "far"), tag("span", at, class_="quiet"))
    if state.snapshot.now.behind:
        return joined(badge("meter behind", "missed"), tag("span", at, class_="quiet"))
    return joined(badge("meter up to date", "kept"), tag("span", at, class_="quiet"))


def banner(state: PollState) -> Markup:
    """A warning about the figures; empty if they are up to date."""
    if state.failure:
        return _banner("unreachable", "The meter is unreachable.", _unreachable(state))
    if state.snapshot is not None and state.snapshot.now.behind:
        behind = formatting.duration(state.snapshot.now.behind_seconds)
        return _banner("behind", f"The meter is {behind} behind.", "The newest events are not counted yet.")
    return Markup()


def _unreachable(state: PollState) -> str:
    if state.snapshot is None:
        return f"{state.failure}. Run hifi doctor to check observe."
    age = formatting.duration(state.age_seconds)
    return f"{state.failure}. The figures below are {age} old. Run hifi doctor to check observe."


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
    """The warning below the head of the page."""

    def __init__(self) -> None:
        self._html = write(Markup(), "notice")

    def show(self, state: PollState) -> None:
        """Update the banner."""
        self._html.content = banner(state)
