"""Whether a proof, a rating or a drained side is good enough, in words. Pure."""

from collections.abc import Mapping

from pipelines.control.deploy.backend import Proof, Rating, Remains
from shared.contracts.envelope import DAY_MS
from shared.contracts.topology import CHAIN_GROUPS


def disproof(proof: Proof) -> str:
    """Faults of a proof's events that no waiting corrects, in words: changed, doubled or refused; empty
    without any."""
    wrong = [
        f"{count:,} {what}"
        for count, what in (
            (proof.changed, "arrived with other bytes"),
            (proof.doubled, "arrived twice"),
            (proof.refused, "were refused"),
        )
        if count
    ]
    return f"of {proof.sent:,} events for proof {', '.join(wrong)}{_examples(proof)}" if wrong else ""


def so_far(proof: Proof | None, wanted: int) -> str:
    """How many events have arrived, of those wanted, and which are overdue, in words."""
    arrived = f"{proof.arrived if proof else 0:,} of {wanted:,} events arrived byte for byte"
    if proof is None or not proof.missing:
        return arrived
    return f"{arrived}; {proof.missing:,} have not arrived{_examples(proof)}"


def _examples(proof: Proof) -> str:
    return f" ({'; '.join(proof.examples)})" if proof.examples else ""


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


def outcome_in_words(remains: Remains, dead_letters: Mapping[str, int]) -> str:
    """The outcome of everything that a side took, in words; `dead_letters` by reason."""
    dead = ", ".join(f"{count:,} {reason}" for reason, count in sorted(dead_letters.items()))
    waiting = f"; {remains.retries:,} events wait in its retry topics" if remains.retries else ""
    return f"nothing unread{waiting}; dead letters: {dead or 'none'}"
