"""Whether a side keeps the promise: `python -m scripts.release.verdict` reads its minutes from observe.

Exit status 0: kept; 1: too early to say; 2: broken. The verdict is printed, in words.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

EVENTS: Final = 100
"""Deliveries that a minute needs to count."""

GOOD_SHARE: Final = 0.95
"""Of a minute's deliveries: made within a second of entering hifi."""


class Verdict(IntEnum):
    """What the minutes say; the exit status."""

    KEPT = 0
    EARLY = 1
    BROKEN = 2


def judged(cards: Sequence[Mapping[str, Any]], minutes: int) -> tuple[Verdict, str]:
    """The verdict over a side's minutes, and the reason.

    Args:
        cards: minutes of all tenants, as observe's API gives them.
        minutes: how many settled minutes with enough deliveries it takes.
    """
    for card in cards:
        if card["lost"]:
            return Verdict.BROKEN, f"minute {card['minute']}: {card['lost']} events lost"
    enough = [card for card in cards if card["settled"] and card["total"] >= EVENTS]
    for card in enough:
        if card["good"] < GOOD_SHARE * card["total"]:
            share = 100 * card["good"] / card["total"]
            return (
                Verdict.BROKEN,
                f"minute {card['minute']}: {share:.1f} % of {card['total']} deliveries good",
            )
    if len(enough) < minutes:
        return Verdict.EARLY, f"{len(enough)} of {minutes} settled minutes with {EVENTS} deliveries"
    total, good = (sum(card[name] for card in enough) for name in ("total", "good"))
    return Verdict.KEPT, f"{good:,} of {total:,} deliveries good in {len(enough)} minutes, none lost"


def main(arguments: Sequence[str]) -> int:
    """Exit status of the process."""
    parser = argparse.ArgumentParser(prog="scripts.release.verdict", description=__doc__)
    parser.add_argument("--minutes", type=int, default=10, help="settled minutes with enough deliveries")
    verdict, text = judged(json.load(sys.stdin), parser.parse_args(arguments).minutes)
    print(f"{verdict.name.lower()}: {text}")
    return verdict


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
