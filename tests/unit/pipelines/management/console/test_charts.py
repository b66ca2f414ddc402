"""Options of the ECharts charts."""

from pipelines.management.console import charts
from shared.contracts.scorecard import Node
from tests.unit.pipelines.management.console.cards import card


def test_mean_durations_weigh_minutes_with_their_events_and_leave_out_retry() -> None:
    cards = [card(1, 30, ingest=10.0, retry=30_000.0), card(2, 10, ingest=50.0), card(3, 5, transmit=7.0)]
    assert charts.mean_durations(cards) == {Node.INGEST: 20.0, Node.TRANSMIT: 7.0}


def test_every_minute_has_its_place_whether_it_had_events_or_not() -> None:
    options = charts.percentiles([card(10), card(11), card(14)], 9, 14)
    assert options["xAxis"]["data"] == [f"00:{minute:02}" for minute in range(9, 15)]
    p95 = next(series for series in options["series"] if series["name"] == "p95")
    assert p95["data"] == [None, 210.0, 211.0, None, None, {"value": 214.0, "symbol": "circle"}]


def test_a_node_without_a_figure_leaves_a_gap_in_the_stack() -> None:
    options = charts.stacked([card(1, route=5.0), card(2, route=6.0, ingest=1.0)], 1, 2)
    found = {series["name"]: series["data"] for series in options["series"]}
    assert found == {
        "collect": [None, None],
        "ingest": [None, {"value": 1.0, "symbol": "circle"}],
        "route": [5.0, 6.0],
        "transmit": [None, None],
    }


def test_the_pie_shows_the_time_that_each_node_adds() -> None:
    (pie,) = charts.pie({Node.INGEST: 20.04, Node.ROUTE: 5.0})["series"]
    assert [(part["name"], part["value"]) for part in pie["data"]] == [("ingest", 20.0), ("route", 5.0)]
