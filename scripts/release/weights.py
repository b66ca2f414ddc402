"""Which side is light, and what a change of the traffic makes of the weights.

`python -m scripts.release.weights switch --to green --now '{"blue": 100, "green": 0}'` prints the new weights
for `scripts.release.traffic`; `dark` prints the side that a release goes to.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from shared.contracts.side_weights import ALL, SIDES, Weights, WrongWeightsError


def dark(now: Weights) -> str:
    """The side without traffic.

    Raises:
        WrongWeightsError: both have some.
    """
    if 0 not in now:
        raise WrongWeightsError(f"both sides serve ({now.text()}): switch to one of them before a release")
    return SIDES[now.index(0)]


def switched(to: str, share: int) -> Weights:
    """Weights that give a side its share, and the other one the rest."""
    return Weights(**{side: share if side == to else ALL - share for side in SIDES})


def burst() -> Weights:
    """Weights that open both sides."""
    return Weights(blue=ALL // 2, green=ALL // 2)


def rolled_back(now: Weights, former: Sequence[Weights]) -> Weights:
    """The last weights under which another side served alone, or the same one before a canary or a burst.

    Args:
        now: The weights that hold.
        former: Those before, newest first.

    Raises:
        WrongWeightsError: No side ever served alone before.
    """
    for weights in former:
        if ALL in weights and weights != now:
            return weights
    raise WrongWeightsError(f"no side served alone before {now.text()}: switch to the one that is to stay")


def _former(text: str) -> list[Weights]:
    try:
        return [Weights.parse(json.dumps(each)) for each in json.loads(text)]
    except (ValueError, TypeError) as error:
        raise WrongWeightsError(f"history: {text!r}; give a JSON list of weights, newest first") from error


def _check_share(now: Weights, side: str, expected: int | None) -> None:
    if expected is not None and now.of(side) != expected:
        raise WrongWeightsError(
            f"{side} has {now.of(side)} percent and not {expected}: the traffic was moved since; find out why"
        )


def _decided(given: argparse.Namespace) -> str:
    now = Weights.parse(given.now)
    match given.change:
        case "dark":
            return dark(now)
        case "switch":
            _check_share(now, given.to, given.expected)
            return switched(given.to, given.share).text()
        case "leave":
            return switched(given.to, 0).text()
        case "burst":
            return burst().text()
        case _:
            return rolled_back(now, _former(given.history)).text()


def main(arguments: Sequence[str]) -> int:
    """Print what was asked for; the exit code."""
    parser = argparse.ArgumentParser(prog="scripts.release.weights", description=__doc__)
    parser.add_argument("change", choices=["dark", "switch", "leave", "burst", "rollback"])
    parser.add_argument("--now", required=True, help="the weights that hold, as JSON")
    parser.add_argument("--to", choices=SIDES, help="the side that gets the share, or is left")
    parser.add_argument("--share", type=int, choices=range(ALL + 1), default=ALL, metavar="PERCENT")
    parser.add_argument(
        "--expected", type=int, metavar="PERCENT", help="switch only if the side has this share now"
    )
    parser.add_argument("--history", help="for a rollback: the weights before, newest first, as JSON")
    given = parser.parse_args(arguments)
    if given.change in ("switch", "leave") and given.to is None:
        parser.error(f"{given.change}: --to names the side")
    if given.change == "rollback" and given.history is None:
        parser.error("rollback: --history is missing; scripts.release.traffic history prints it")
    try:
        print(_decided(given))
    except WrongWeightsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
