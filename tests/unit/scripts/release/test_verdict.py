"""Whether a side that has traffic keeps the promise."""

import io
import json
from typing import Any

import msgspec
import pytest

from pipelines.control.observe.scorecards.minute_cards import empty_card
from scripts.release.verdict import Verdict, judged, main


def card(minute: int, **counts: Any) -> dict[str, Any]:
    """A minute as observe's API gives it."""
    found: dict[str, Any] = msgspec.to_builtins(empty_card("*", minute))
    return found | {"settled": True, "total": 200, "good": 200, "delivered": 200} | counts


def test_ten_good_minutes_keep_the_promise() -> None:
    verdict, text = judged([card(minute) for minute in range(10)], 10)
    assert (verdict, text) == (Verdict.KEPT, "2,000 of 2,000 deliveries good in 10 minutes, none lost")


def test_minutes_that_are_not_settled_or_nearly_empty_do_not_count() -> None:
    cards = [card(minute) for minute in range(9)]
    cards += [card(9, settled=False), card(10, total=99, good=99)]
    assert judged(cards, 10)[0] is Verdict.EARLY


@pytest.mark.parametrize(("good", "verdict"), [(190, Verdict.KEPT), (189, Verdict.BROKEN)])
def test_a_minute_below_95_percent_breaks_it(good: int, verdict: Verdict) -> None:
    assert judged([card(1, good=good), *(card(minute) for minute in range(2, 12))], 10)[0] is verdict


def test_one_lost_event_breaks_it_at_once() -> None:
    verdict, text = judged([card(7, settled=False, lost=1)], 10)
    assert (verdict, text) == (Verdict.BROKEN, "minute 7: 1 events lost")


def test_the_exit_status_is_the_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps([card(1, good=0)])))
    assert main(["--minutes", "1"]) == 2
    assert capsys.readouterr().out == "broken: minute 1: 0.0 % of 200 deliveries good\n"
