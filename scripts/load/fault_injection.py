"""Faults that a destination injects, as rules: `503=10%`, `429:2s=5%`, `delay:3s=5%`, `hang=1%`."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from shared.runtime.errors import UsageError


class Action(StrEnum):
    """The treatment of a request: it is accepted, or meets a fault."""

    ACCEPT = "accept"
    STATUS = "status"
    DELAY = "delay"
    HANG = "hang"
    RESET = "reset"


class Rule(Struct, frozen=True, kw_only=True):
    """One kind of fault."""

    action: Action
    percent: float
    """Share of the requests."""

    status: int = 202
    seconds: float | None = None
    """DELAY: time before the response. STATUS: value of Retry-After."""


class RuleError(UsageError):
    """A rule that cannot be parsed; the text shows the syntax."""


ACCEPT: Final = Rule(action=Action.ACCEPT, percent=100)
SYNTAX: Final = "ACTION[:DURATION]=PERCENT, for example 503=10%, 429:2s=5%, delay:3s=5%, hang=1%, reset=1%"

_RULE = re.compile(
    r"(?P<action>[a-z]+|\d{3})(?::(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m))?=(?P<percent>\d+(?:\.\d+)?)%?"
)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


def parse_rule(text: str) -> Rule:
    """A rule from its text.

    Raises:
        RuleError: if the text is not a rule.
    """
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise RuleError(f"{text!r} is not a rule; write {SYNTAX}")
    percent = float(found["percent"])
    if percent > 100:
        raise RuleError(f"{text!r}: the percentage must be between 0 and 100")
    seconds = float(found["number"]) * _UNITS[found["unit"]] if found["number"] else None
    return _rule(text, found["action"], seconds, percent)


def _rule(text: str, action: str, seconds: float | None, percent: float) -> Rule:
    if action.isdigit():
        if not 300 <= int(action) <= 599:
            raise RuleError(f"{text!r}: the status must be between 300 and 599; success needs no rule")
        return Rule(action=Action.STATUS, percent=percent, status=int(action), seconds=seconds)
    if action == Action.DELAY:
        if seconds is None:
            raise RuleError(f"{text!r}: a delay needs its length, for example delay:3s=5%")
        return Rule(action=Action.DELAY, percent=percent, seconds=seconds)
    if action not in (Action.HANG, Action.RESET):
        raise RuleError(f"{text!r}: unknown action {action!r}; write {SYNTAX}")
    if seconds is not None:
        raise RuleError(f"{text!r}: {action} takes no duration")
    return Rule(action=Action(action), percent=percent)


class FaultInjection:
    """Rules, at most one of which applies to a request."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        """Check the sum of the rules.

        Raises:
            RuleError: if their percentages add up to more than 100.
        """
        self.rules = tuple(rules)
        total = sum(rule.percent for rule in self.rules)
        if total > 100:
            raise RuleError(f"the percentages add up to {total:g}; they may be 100 together")

    def choose(self, draw: float) -> Rule:
        """The rule for a request, given a random number in [0, 1)."""
        point = draw * 100
        for rule in self.rules:
            if point < rule.percent:
                return rule
            point -= rule.percent
        return ACCEPT


def parse_rules(texts: Iterable[str]) -> FaultInjection:
    """Rules from their texts, each of which may hold several, separated by commas.

    Raises:
        RuleError: if one is not a rule, or they add up to more than 100 %.
    """
    return FaultInjection(parse_rule(text) for group in texts for text in group.split(",") if text.strip())
