"""Activities on the side, drawn and as text."""

import re

from msgspec.structs import replace

from pipelines.management.console.panels.side_timeline import Axis, rows, spans_table
from shared.contracts.diamond.activities import Action, Actor
from shared.contracts.timeline import ActivitySpan, Health, HealthSpan, Timeline

MINUTE = 60_000
AXIS = Axis(100, 160)
NOW = 160 * MINUTE + 30_000
CANARY = ActivitySpan(
    id="1", actor=Actor.DEPLOYER, action=Action.STEP_FORWARD, reason="deploy <b>2</b>", phase="canary",
    from_ms=115 * MINUTE, until_ms=130 * MINUTE,
)  # fmt: skip
LATE = HealthSpan(health=Health.UNSTABLE, reasons=["alarm burn: late"], from_ms=50 * MINUTE, until_ms=None)


def places(markup: str, style: str) -> list[tuple[float, float]]:
    """Left edge and width of the bars, percent."""
    found = re.findall(
        rf'class="bar {style}" style="left: min\(([\d.]+)%, 100% - 3px\); width: ([\d.]+)%"', markup
    )
    return [(float(left), float(width)) for left, width in found]


def test_a_bar_stands_above_its_minutes_and_ends_with_the_axis() -> None:
    drawn = rows(Timeline(activities=[CANARY], health=[LATE]), AXIS, NOW)
    assert places(drawn, "acting") == [(25.0, 25.0)]
    assert places(drawn, "not-stable") == [(0.0, 100.0)]


def test_there_is_a_row_for_each_who_acted_and_always_one_for_the_side() -> None:
    assert re.findall(r'data-row="([^"]+)"', rows(Timeline(), AXIS, NOW)) == ["side"]
    maintained = ActivitySpan(
        id="2", actor=Actor.MAINTENANCE, action=Action.MAINTAIN, reason="a patch", from_ms=NOW, until_ms=None
    )
    drawn = rows(Timeline(activities=[maintained, CANARY, CANARY]), AXIS, NOW)
    assert re.findall(r'data-row="([^"]+)"', drawn) == ["side", "deployer", "maintenance"]


def test_the_table_says_all_of_it_newest_first_and_shows_others_text_as_text() -> None:
    text = re.sub(r"<[^>]+>+", "|", spans_table(Timeline(activities=[CANARY], health=[LATE])))
    cells = [each for each in text.split("|") if each]
    at = cells.index("deployer")
    assert cells[at : at + 5] == [
        "deployer", "step forward, canary", "1970-01-01 01:55:00", "1970-01-01 02:10:00",
        "deploy &lt;b&gt;2&lt;/b&gt;",
    ]  # fmt: skip
    assert cells[at + 5 :] == ["side", "not stable", "1970-01-01 00:50:00", "now", "alarm burn: late"]
    assert "Nothing is known" in spans_table(Timeline())


def test_of_very_many_spans_the_table_lists_the_newest_and_says_how_many_are_left_out() -> None:
    health = [HealthSpan(health=Health.STABLE, from_ms=n, until_ms=n) for n in range(103)]
    assert "3 older ones are left out." in spans_table(Timeline(health=health))


def test_no_more_bars_are_drawn_than_the_table_lists_and_those_are_the_newest() -> None:
    health = [
        HealthSpan(health=Health.STABLE, from_ms=n * MINUTE, until_ms=n * MINUTE) for n in range(101, 157)
    ]
    acted = [replace(CANARY, from_ms=n * MINUTE, until_ms=n * MINUTE) for n in range(101, 157)]
    found = Timeline(activities=acted, health=health)
    drawn = rows(found, AXIS, NOW)
    bars = [*places(drawn, "acting"), *places(drawn, "stable")]
    assert len(bars) == 100 and "12 older ones are left out." in drawn
    assert min(left for left, _ in bars) == Axis(100, 160).place(107 * MINUTE)
    assert spans_table(found).count("<tr>") - 1 == len(bars)
