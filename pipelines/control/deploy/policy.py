"""Rules for each step of a release, and how long it may take. Pure."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from shared.contracts.diamond.activities import Action
from shared.contracts.diamond.permission import RULES
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import BACKWARD, Kind, Step
from shared.contracts.releases import Release


class Policy(Struct, frozen=True, kw_only=True):
    """Limits of a deployer; its settings describe each."""

    canary_percent: int = 10
    watch_minutes: int = 3
    watch_events: int = 1_000
    half_minutes: int = 2
    switch_seconds: int = 300
    bake_minutes: int = 10
    proof_events: int = 100
    ready_seconds: int = 1_800
    prove_seconds: int = 300
    load_test_seconds: int = 1_800
    watch_seconds: int = 1_800
    release_wait_seconds: int = 600
    linger_seconds: int = 300
    outcome_seconds: int = 900
    most_crashes: int = 3
    rating_days: float = 0
    least_rating: float = 0.8
    retries_seconds: int = 90_000


WARMING: Final = frozenset({Step.WARM, Step.WARM_HALF})
"""Steps of a switch in which the other side compiles its code, with a share of the traffic."""

SHARING: Final = frozenset({Step.CANARY, Step.HALF, Step.BOTH, Step.ALL})
"""Steps that give the target traffic."""

LOOKING: Final = frozenset({Step.READY, Step.WATCH, Step.WATCH_HALF, *WARMING, Step.BAKE, Step.DRAIN})
"""Steps that only look, or start what should run: they need no permission of their own."""

JUDGED: Final = frozenset({Step.WATCH, Step.HALF, Step.WATCH_HALF, *WARMING, Step.ALL, Step.BAKE})
"""Steps in which the target's minutes count, whether the step may begin yet or not."""

WATCHED: Final = JUDGED | {Step.READY, Step.PROVE, Step.LOAD_TEST, Step.CANARY}
"""Steps in which a target that crashes is bad."""

_LOADING: Final = frozenset(
    {
        Step.START,
        Step.READY,
        Step.PROVE,
        Step.LOAD_TEST,
        Step.CANARY,
        Step.HALF,
        Step.BOTH,
        Step.ALL,
    }
)
"""Steps that start code on the target, or bring events to it."""

_ON_BOTH: Final = frozenset(
    {
        Step.CANARY,
        Step.WATCH,
        Step.HALF,
        Step.WATCH_HALF,
        *WARMING,
        Step.BOTH,
        Step.ALL,
        Step.BAKE,
        Step.DRAIN,
        Step.PARK,
    }
)
"""Steps that change the traffic of both sides, or the side that was left."""


def sides_of(release: Release) -> tuple[str, ...]:
    """The sides that the present step acts on; none while nothing is changed."""
    if release.step is Step.PREFLIGHT or release.ended:
        return ()
    if release.step in _ON_BOTH or release.step in BACKWARD:
        return (release.target, release.former)
    return (release.target,)


def action_of(release: Release) -> Action:
    """The action as which the present step is registered."""
    if release.kind is Kind.ROLLBACK or release.step in BACKWARD:
        return Action.STEP_BACK
    if release.step in (Step.START, Step.READY):
        return Action.REPLACE_CODE
    return Action.STEP_FORWARD


def needs_health(release: Release, side: str) -> bool:
    """Whether the side has to be stable for the present step.

    It does not have to be if

    - traffic leaves the side: any problem is a reason to leave. It is parked once losses and doubles are
      settled, or as it is if it is broken;
    - code is only being started there, or the step only looks on;
    - a burst ends: both sides have traffic already, and one of them has to take the rest;
    - the release is on its way back, which no health delays; asking a side that does not answer would.
    """
    if not RULES[action_of(release)].needs_stable:
        return False
    if release.step in LOOKING or (release.kind is Kind.BURST_OFF and release.step is Step.ALL):
        return False
    if side == release.former:
        return release.step is Step.PARK and not release.unfinished
    return True


def judged_alone(release: Release) -> bool:
    """Whether the target is held to hifi's promise, and not compared with the other side.

    With all the traffic there is nothing to compare it with. The version that a switch moves serves there,
    and may do badly: that is a reason to leave it.
    """
    return release.kind is Kind.SWITCH or release.step is Step.BAKE


def waits_for_patches(release: Release) -> bool:
    """Whether the present step does not begin while the place changes the target's brokers or machines.

    The side that traffic leaves may be changed: it is left all the same. So may one that is to be parked.
    """
    return release.step in _LOADING and action_of(release) is not Action.STEP_BACK


def percent(release: Release, policy: Policy) -> int | None:
    """The target's share of the traffic that the present step sets; None if it leaves the weights."""
    shares: Mapping[Step, int] = {
        Step.CANARY: 0 if release.canary_tenants else policy.canary_percent,
        Step.HALF: 50,
        Step.BOTH: 50,
        Step.ALL: 100,
        Step.GIVE_BACK: 0,
    }
    return shares.get(release.step)


def pinned(release: Release) -> Mapping[str, str]:
    """The target, by each tenant that the present step pins to it; empty unless the step is CANARY."""
    tenants = release.canary_tenants if release.step is Step.CANARY else ()
    return dict.fromkeys(tenants, release.target)


def keeps_retries(release: Release, policy: Policy, now_ms: int) -> bool:
    """Whether events that wait for their next try still keep the side that is left from being parked."""
    return now_ms - release.traffic_ms < 1_000 * policy.retries_seconds


def seconds_of(step: Step, policy: Policy) -> int | None:
    """After so long a step forward has failed; None if it may take any time."""
    limits: Mapping[Step, int] = {
        Step.SNAPSHOT: policy.release_wait_seconds,
        Step.START: policy.ready_seconds,
        Step.READY: policy.ready_seconds,
        Step.PROVE: policy.prove_seconds,
        Step.LOAD_TEST: policy.load_test_seconds,
        Step.CANARY: policy.release_wait_seconds,
        Step.WATCH: policy.watch_seconds,
        Step.HALF: policy.release_wait_seconds,
        Step.WATCH_HALF: policy.watch_seconds,
        Step.ALL: policy.release_wait_seconds,
        # These end by themselves, unless the sides cannot be asked.
        **dict.fromkeys(WARMING, policy.switch_seconds + policy.watch_seconds),
        Step.BAKE: policy.bake_minutes * MINUTE_MS // 1_000 + policy.watch_seconds,
    }
    return limits.get(step)
