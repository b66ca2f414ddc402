"""Rules of fault injection: meaning, and refusals."""

from collections import Counter

import pytest

from scripts.load.fault_injection import (
    ACCEPT,
    Action,
    FaultInjection,
    Rule,
    RuleError,
    parse_rule,
    parse_rules,
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("503=10%", Rule(action=Action.STATUS, percent=10, status=503)),
        ("429:2s=5%", Rule(action=Action.STATUS, percent=5, status=429, seconds=2)),
        ("delay:3s=5", Rule(action=Action.DELAY, percent=5, seconds=3)),
        ("delay:250ms=0.5%", Rule(action=Action.DELAY, percent=0.5, seconds=0.25)),
        ("hang=1%", Rule(action=Action.HANG, percent=1)),
        ("reset=100%", Rule(action=Action.RESET, percent=100)),
    ],
)
def test_a_rule_means_what_it_says(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    "text", ["503", "999=1%", "delay=5%", "hang:3s=1%", "503=101%", "503=-1%", "sleep=1%", "accept=1%", ""]
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(RuleError):
        parse_rule(text)


def test_more_than_all_requests_is_refused() -> None:
    with pytest.raises(RuleError, match="110"):
        parse_rules(["503=60%", "hang=50%"])


def test_each_rule_gets_its_share() -> None:
    rules = parse_rules(["503=10%,hang=5%", "reset=1%"])
    chosen = Counter(rules.choose(draw / 10_000).action for draw in range(10_000))
    assert chosen == {Action.STATUS: 1_000, Action.HANG: 500, Action.RESET: 100, Action.ACCEPT: 8_400}


def test_without_rules_every_request_is_accepted() -> None:
    assert FaultInjection().choose(0.0) is ACCEPT
