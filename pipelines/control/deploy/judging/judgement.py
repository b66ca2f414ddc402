"""Whether a version does as well as the one that serves: its minutes against the same minutes. Pure.

Shares of events (late, doubled, dead letters by reason) are compared by Fisher's exact test at SHARE_ERROR,
values a minute as `minute_values` and `few_minutes` say. A difference counts only if it is also larger than a
stated margin, so that a large number of events does not turn a trifle into a verdict. A release is looked at
once a minute, some ten times, by four tests of shares: less than one good version in 250 fails by chance in
these.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from pipelines.control.deploy.backend import SideMinute
from pipelines.control.deploy.judging.few_minutes import heavier, much_costlier, much_slower
from pipelines.control.deploy.judging.minute_values import Pair, Pairs, costlier, growing, slower
from pipelines.control.deploy.judging.significance import binomial_greater, fisher_greater
from pipelines.control.deploy.judging.warming import (
    COLD_MINUTES,
    LATE_MARGIN,
    Start,
    beside_none,
    cold_minutes,
    late_share,
)
from shared.contracts.counts import GOOD_SHARE
from shared.contracts.releases import Finding, Verdict

SHARE_ERROR: Final = 1e-4
"""Probability that a test of shares finds a difference where there is none."""

LEAST_EVENTS: Final = 100
"""Events of the target before anything is said of its shares."""

_LEAST_P: Final = 1e-300
"""Smaller ones are not shown."""

_LATE_MINUTES: Final = 2
"""Minutes with more late events than on the other side; one is enough if it breaks hifi's promise."""

_DOUBLED_MARGIN: Final = 0.001
_DEAD_MARGIN: Final = 0.001


Minutes = Sequence[SideMinute]
"""Minutes of one side, oldest first."""


class Enough(Struct, frozen=True, kw_only=True):
    """The traffic that a version must have had for a good verdict."""

    events: int
    minutes: int
    since: int
    """Minutes before this one do not count towards `minutes`; epoch minute."""


def judged(  # noqa: PLR0913  # two sides' minutes, and how they are compared
    target: Minutes,
    former: Minutes,
    enough: Enough,
    *,
    alone: bool = False,
    start: Start = Start.WARM,
    whole_from: int = 0,
) -> Verdict:
    """The verdict on the target.

    Args:
        target: its minutes since it has had traffic; those that are not settled do not count.
        former: those of the side that serves beside it.
        enough: what a good verdict needs.
        alone: the target's minutes since `enough.since` are judged by hifi's promise, not by the other side.
        start: if alone, how it began with the traffic of these minutes.
        whole_from: the first whole minute with traffic, epoch minute; of those before it only lost and
            changed events count.
    """
    wrong = _wrongs([each for each in target if each.settled])
    target = [each for each in target if each.settled and each.minute >= whole_from]
    pairs = [] if alone else _pairs(target, former)
    ours = [each for each in target if each.minute >= enough.since] if alone else [mine for mine, _ in pairs]
    own = [*map(_own, ours)] if alone else ours
    compiling = beside_none(own) if alone and start is Start.COLD else pairs
    cold = len(own) if start is Start.HURRIED else cold_minutes(compiling)
    poor = [*_worse_shares(own, [theirs for _, theirs in pairs], cold)]
    slow = [*_worse_values(pairs, cold), *growing(target)]
    first, last = (target[0].minute, target[-1].minute) if target else (0, 0)
    bad = [*wrong, *(text for text, _ in poor), *slow]
    if bad:
        replay = bool(wrong) or any(again for _, again in poor)
        return Verdict(finding=Finding.BAD, words=bad, replay=replay, first=first, last=last)
    lacking = [*_lacking(ours, enough), *_warming(compiling, cold)]
    return Verdict(
        finding=Finding.EARLY if lacking else Finding.GOOD,
        words=[*lacking, _summary(ours)],
        first=first,
        last=last,
        warm_from=ours[cold - 1].minute + 1 if cold else 0,
    )


def to_replay(target: Minutes, former: Minutes) -> list[str]:
    """Why what went through the target has to be processed again, in words; empty if it has not."""
    pairs = _pairs(target, former)
    poor = _worse_shares([ours for ours, _ in pairs], [theirs for _, theirs in pairs], cold_minutes(pairs))
    return [*_wrongs(target), *(text for text, again in poor if again)]


def _pairs(target: Minutes, former: Minutes) -> list[Pair]:
    """The minutes in which both had traffic, if both are settled."""
    of_former = {each.minute: each for each in former if each.total and each.settled}
    return [(each, of_former[each.minute]) for each in target if each.settled and each.minute in of_former]


def _worse_values(pairs: Pairs, cold: int) -> Iterator[str]:
    """Values a minute that are worse than the other side's, in words; so many minutes are cold."""
    for worse in (slower, costlier, heavier):
        yield from worse(pairs)
    for much_worse in (much_slower, much_costlier):
        yield from much_worse(pairs[max(cold, COLD_MINUTES) :])


def _lacking(ours: Minutes, enough: Enough) -> list[str]:
    since = [each for each in ours if each.minute >= enough.since]
    events = sum(each.total for each in since)
    found = []
    if len(since) < enough.minutes:
        found.append(f"{len(since)} of {enough.minutes} minutes")
    if events < enough.events:
        found.append(f"{events:,} of {enough.events:,} events")
    return found


def _warming(pairs: Pairs, cold: int) -> list[str]:
    """A sentence if the target still compiles: all its minutes are cold, and the last breaks the promise."""
    if cold <= COLD_MINUTES or cold != len(pairs):
        return []
    before, last = (100 * late_share(ours) for ours, _ in pairs[-2:])
    if last <= 100 * (1 - GOOD_SHARE):
        return []
    return [f"{last:.3g} % late in the last minute, {before:.3g} % in the one before: it still compiles"]


def _own(minute: SideMinute) -> SideMinute:
    """A minute without deliveries held up by their destination, to judge a version by itself. Beside another
    side both meet the same destinations, and one that fails for the version alone is the version's fault."""
    return replace(minute, total=max(minute.good, minute.total - minute.held_up))


def _summary(ours: Minutes) -> str:
    total, good = sum(each.total for each in ours), sum(each.good for each in ours)
    return f"{good:,} of {total:,} events good in {len(ours)} minutes, none lost"


def _wrongs(target: Sequence[SideMinute]) -> list[str]:
    """Lost and changed events, in words: one fails a version, and what went through is processed again."""
    lost, changed = sum(each.lost for each in target), sum(each.changed for each in target)
    found = ((lost, "are lost"), (changed, "arrived changed"))
    return [f"{count:,} events {what}" for count, what in found if count]


def _worse_shares(ours: Minutes, theirs: Minutes, cold: int) -> Iterator[tuple[str, bool]]:
    """Shares that are worse, in words, and whether what went through has to be processed again.

    In the first minutes, so many as are `cold`, late events do not count.
    """
    of, of_other = sum(each.total for each in ours), sum(each.total for each in theirs)
    if of < LEAST_EVENTS:
        return
    yield from _later(ours[cold:], theirs[cold:])
    yield from _share(
        "doubled", sum(each.doubled for each in ours), of, sum(each.doubled for each in theirs), of_other,
        margin=_DOUBLED_MARGIN, allowed=_DOUBLED_MARGIN, again=False, error=SHARE_ERROR,
    )  # fmt: skip
    if not of_other:  # a customer's destination that refuses is not the version's doing
        return
    reasons = sorted({reason for each in ours for reason in each.dead})
    for reason in reasons:
        yield from _share(
            f"dead letters ({reason})", _dead(ours, reason), of, _dead(theirs, reason), of_other,
            margin=_DEAD_MARGIN, allowed=1 - GOOD_SHARE, again=True, error=SHARE_ERROR / len(reasons),
        )  # fmt: skip


def _later(ours: Minutes, theirs: Minutes) -> Iterator[tuple[str, bool]]:
    """A larger share of late events, in words; none of them has to be processed again."""
    of, of_other = sum(each.total for each in ours), sum(each.total for each in theirs)
    if of >= LEAST_EVENTS and _often_late(ours, theirs):
        yield from _share(
            "late", of - sum(each.good for each in ours), of, of_other - sum(each.good for each in theirs),
            of_other, margin=LATE_MARGIN, allowed=1 - GOOD_SHARE, again=False, error=SHARE_ERROR,
        )  # fmt: skip


def _often_late(ours: Minutes, theirs: Minutes) -> bool:
    """Whether a minute breaks hifi's promise, or some are worse than the other side's: one may be a stall."""
    broken = any(late_share(each) > 1 - GOOD_SHARE for each in ours)
    worse = [
        mine
        for mine, other in zip(ours, theirs, strict=False)
        if late_share(mine) > late_share(other) + LATE_MARGIN
    ]
    return broken or len(worse) >= _LATE_MINUTES


def _dead(minutes: Minutes, reason: str) -> int:
    return sum(each.dead.get(reason, 0) for each in minutes)


def _share(  # noqa: PLR0913  # two counts of two, and what is allowed
    what: str, hits: int, of: int, other: int, of_other: int,
    *, margin: float, allowed: float, again: bool, error: float,
) -> Iterator[tuple[str, bool]]:  # fmt: skip
    """A worse share in words, with `again`; against the other side's, or `allowed` if that had no events."""
    share, beside = hits / of, other / of_other if of_other else allowed
    if share <= (beside + margin if of_other else allowed):
        return
    if of_other:
        chance, test = fisher_greater(hits, of, other, of_other), "Fisher's exact test"
        against = f"against {100 * beside:.3g} % of {of_other:,}"
    else:
        chance, test = binomial_greater(hits, of, allowed), "exact binomial test"
        against = f"where {100 * allowed:.3g} % are allowed"
    if chance < error:
        figures = f"{100 * share:.3g} % of {of:,} events are {what}, {against}"
        yield f"{figures} ({test}, one-sided: p = {max(chance, _LEAST_P):.2g}, limit {error:.2g})", again
