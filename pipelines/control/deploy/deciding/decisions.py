"""The decision about a release, given what was seen: the next step, a wait, or the way back. Pure."""

from msgspec.structs import replace

from pipelines.control.deploy.deciding.seen import Look, Seen
from pipelines.control.deploy.deciding.steps import after_step
from pipelines.control.deploy.deciding.transitions import going_back, undone
from pipelines.control.deploy.deciding.unready_side import drained_again, unready_too_long, with_readiness
from pipelines.control.deploy.judging import sufficiency
from pipelines.control.deploy.judging.judgement import Enough, judged
from pipelines.control.deploy.judging.traffic_minutes import first_whole_minute
from pipelines.control.deploy.judging.warming import start_of
from pipelines.control.deploy.policy import (
    JUDGED,
    LOOKING,
    WARMING,
    WATCHED,
    Policy,
    judged_alone,
    seconds_of,
)
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Finding, Release, Verdict


def decided(release: Release, seen: Seen, policy: Policy, now_ms: int) -> Release:
    """The release after a look; the same if nothing is to change.

    Args:
        release: one that has not ended; what it waits for is up to date.
        seen: what the look found.
        policy: limits.
        now_ms: now, epoch milliseconds.
    """
    if going_back(release):
        return _further(Look(release=release, seen=seen, policy=policy, now_ms=now_ms))
    if release.back:
        return undone(release, release.back, now_ms)
    verdict = _verdict(release, seen, policy, now_ms)
    release = _with_problem(release, seen, now_ms)
    known = release if verdict is None else _noted(release, verdict)
    if verdict is not None and verdict.finding is Finding.BAD:
        return undone(known, "; ".join(verdict.words), now_ms, replay=verdict.replay)
    at = _noting_readiness(Look(release=known, seen=seen, policy=policy, now_ms=now_ms))
    trouble = _crashed(at) or _disproved(at) or unready_too_long(at) or _overdue(at)
    # What the proof shows happened to customers' events too, if it had any.
    again = seen.proof is not None and sufficiency.spoils(seen.proof)
    return undone(at.release, trouble, now_ms, replay=again) if trouble else _further(at)


def _further(at: Look) -> Release:
    if at.release.waits:
        return drained_again(at) or at.release
    if at.seen.problem:
        return replace(at.release, said=at.seen.problem)
    return after_step(at)


def _verdict(release: Release, seen: Seen, policy: Policy, now_ms: int) -> Verdict | None:
    """The verdict on the target's minutes; None where they are not asked for."""
    if release.step not in JUDGED or not release.traffic_ms:
        return None
    whole = first_whole_minute(release)
    since = -(-release.traffic_ms // MINUTE_MS)
    minutes = {Step.WATCH_HALF: policy.half_minutes, Step.BAKE: policy.bake_minutes}
    needed = minutes.get(release.step, policy.watch_minutes)
    enough = Enough(events=policy.watch_events, minutes=needed, since=since)
    verdict = judged(
        seen.minutes,
        seen.former_minutes or (),
        enough,
        alone=judged_alone(release),
        start=start_of(release),
        whole_from=whole,
    )
    return replace(verdict, step=release.step, at_ms=now_ms)


def _noted(release: Release, verdict: Verdict) -> Release:
    """Add a verdict to the release; it replaces the last one if step and finding are the same."""
    last = release.verdicts[-1] if release.verdicts else None
    if last is not None and replace(last, at_ms=0) == replace(verdict, at_ms=0):
        return release
    same = last is not None and (last.step, last.finding) == (verdict.step, verdict.finding)
    kept = release.verdicts[:-1] if same else release.verdicts
    return replace(release, verdicts=[*kept, verdict])


def _noting_readiness(at: Look) -> Look:
    """Note since when a target with all the traffic has not been ready: its meter may be silent meanwhile."""
    if at.release.step is not Step.BAKE or at.seen.readiness is None:
        return at
    return replace(at, release=with_readiness(at))


def _with_problem(release: Release, seen: Seen, now_ms: int) -> Release:
    """Note since when the place could not be asked or changed."""
    return replace(release, problem_ms=(release.problem_ms or now_ms) if seen.problem else 0)


def _crashed(at: Look) -> str:
    found = at.seen.readiness
    if found is None or at.release.step not in WATCHED or found.crashes < at.policy.most_crashes:
        return ""
    if at.release.kind is Kind.BURST_OFF:
        return ""  # its target has served for long: a crash since then is not a reason to go on bursting
    why = f": {'; '.join(found.waiting_for)}" if found.waiting_for else ""
    return f"programs of {at.release.version} ended by themselves {found.crashes} times{why}"


def _disproved(at: Look) -> str:
    return sufficiency.disproof(at.seen.proof) if at.seen.proof is not None else ""


def _overdue(at: Look) -> str:
    """Why the step has taken too long."""
    step, waits = at.release.step, "; ".join(at.release.waits)
    if waits and (step not in LOOKING or not at.release.carried):
        return _impatient(at)
    since_ms = max(at.release.since_ms, at.release.limit_from_ms)
    passed, limit = (at.now_ms - since_ms) / 1_000, seconds_of(step, at.policy)
    if limit is None or passed <= limit:
        return ""
    if _may_end_yet(at):
        return ""
    why = at.seen.problem or waits or at.release.said or "nothing seen"
    return f"{step} was not over after {limit:,} s: {why}"


def _may_end_yet(at: Look) -> bool:
    """Whether a step that judges may still end well, though its time is up: there was no look for a while.

    The first look afterwards may have to wait, or fail; after that the verdict of a watch counts. Baking ends
    by itself.
    """
    step = at.release.step
    if step not in (Step.WATCH, Step.WATCH_HALF, *WARMING, Step.BAKE):
        return False
    if step is Step.BAKE or at.release.waits or at.seen.problem:
        return not _lasts(at)
    return _further(at).step is not step


def _lasts(at: Look) -> bool:
    """Whether what keeps the step from its end has done so for as long as a release with traffic may wait."""
    problem_ms = at.release.problem_ms
    asked_in_vain = (at.now_ms - problem_ms) / 1_000 if problem_ms else 0
    return max(_waited(at.release, at.now_ms), asked_in_vain) > at.policy.release_wait_seconds


def _waited(release: Release, now_ms: int) -> float:
    """Seconds for which the release has been waiting."""
    return (now_ms - (release.waits_since_ms or release.since_ms)) / 1_000 if release.waits else 0


def _impatient(at: Look) -> str:
    """Why it has waited too long. Before it has traffic it may wait any time, and so may what only ends."""
    if not at.release.carried or at.release.step is Step.PARK or at.release.kind is Kind.BURST_OFF:
        return ""
    waited = _waited(at.release, at.now_ms)
    too_long = waited > at.policy.release_wait_seconds
    return f"{at.release.step} had to wait {waited:.0f} s: {'; '.join(at.release.waits)}" if too_long else ""
