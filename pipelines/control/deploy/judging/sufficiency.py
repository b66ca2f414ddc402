"""Whether a proof, a rating or a drained side is good enough, in words. Pure."""

from collections.abc import Mapping

from pipelines.control.deploy.backend import Proof, Rating, Remains
from shared.contracts.envelope import DAY_MS
from shared.contracts.topology import CHAIN_GROUPS


def disproof(proof: Proof) -> str:
    """Faults of a proof's events, in words: changed, doubled, refused or missing; empty without any."""
    wrong = [
        f"{count:,} {what}"
        for count, what in (
            (proof.changed, "arrived with other bytes"),
            (proof.doubled, "arrived twice"),
            (proof.refused, "were refused"),
            (proof.missing, "have not arrived"),
        )
        if count
    ]
    if not wrong:
        return ""
    examples = f" ({'; '.join(proof.examples)})" if proof.examples else ""
    return f"of {proof.sent:,} events for proof {', '.join(wrong)}{examples}"


def spoils(proof: Proof) -> bool:
    """Whether what the version processed has to be processed again: its events arrive changed, or nowhere."""
    return bool(proof.changed or proof.refused or proof.missing)


def old(rating: Rating | None, version: str, days: float, now_ms: int) -> bool:
    """Whether a load test is missing, of another version, or older than `days`."""
    return rating is None or rating.version != version or now_ms - rating.at_ms > days * DAY_MS


def weaker(rating: Rating, former: Rating | None, least: float) -> str:
    """Why a rating is too low; empty if it is not, or if there is none to compare it with."""
    if former is None or rating.events_per_second >= least * former.events_per_second:
        return ""
    required = f"{100 * least:.0f} % of the {former.events_per_second:,.0f} events/s of {former.version}"
    return f"{words(rating)}, less than {required}"


def words(rating: Rating) -> str:
    """A rating, with its units."""
    return f"{rating.events_per_second:,.0f} events/s with p95 {rating.p95_ms:,.0f} ms"


def left(remains: Remains, *, retries: bool) -> list[str]:
    """Reasons not to park a side yet, in words; empty if it may be parked.

    Args:
        remains: what it has to settle.
        retries: whether events that wait for their next try keep it; if not, they stay in its topics.
    """
    unknown = [f"{group}: not known yet" for group in CHAIN_GROUPS if group not in remains.lag]
    unread = [f"{group}: {count:,} records" for group, count in remains.lag.items() if count]
    if retries and remains.retries:
        # Of the groups, `retry` stands still while its records are not due.
        return [*unknown, *unread, f"{remains.retries:,} events wait for their next try"]
    if remains.retries:
        unread = [each for each in unread if not each.startswith("retry:")]
    return [*unknown, *unread]


def account(remains: Remains, dead_letters: Mapping[str, int]) -> str:
    """The outcome of everything that a side took, in words; `dead_letters` by reason."""
    dead = ", ".join(f"{count:,} {reason}" for reason, count in sorted(dead_letters.items()))
    waiting = f"; {remains.retries:,} events wait in its retry topics" if remains.retries else ""
    return f"nothing unread{waiting}; dead letters: {dead or 'none'}"
