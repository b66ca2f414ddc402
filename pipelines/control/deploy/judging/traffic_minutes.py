"""In which minutes a release's target has customers' events. Pure."""

from pipelines.control.deploy.judging.warming import COLD_MINUTES
from pipelines.control.deploy.policy import SHARING, Policy
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Step
from shared.contracts.releases import Passed, Release


def first_judged_minute(release: Release) -> int:
    """The minute in which the target began to get customers' events; epoch minute. Losses count from it on.

    By hand it may have had some since its start, in the minute of which another version may have run.
    """
    return min(_began(release, _shared(release, since_start=False)), first_whole_minute(release))


def first_whole_minute(release: Release) -> int:
    """The first whole minute in which the target has had traffic; epoch minute."""
    ends = (each.until_ms for each in _shared(release, since_start=release.by_hand))
    return -(-min(ends, default=release.traffic_ms) // MINUTE_MS)


def first_warm_minute(release: Release) -> int:
    """The first minute whose events say how fast the target is; epoch minute, 0 before its traffic."""
    first = first_whole_minute(release)
    if not first:
        return 0
    return max([first + COLD_MINUTES, *(each.warm_from for each in release.verdicts)])


def first_minute(release: Release) -> int:
    """The minute in which the target got its first events of customers; epoch minute.

    By hand, or because it found some, it may have had them since its start.
    """
    return _began(release, _shared(release, since_start=release.by_hand or release.leftovers))


def last_minute(release: Release, policy: Policy) -> int:
    """The last minute in which a target that has no share any more may have got traffic; epoch minute."""
    return (release.traffic_ms + 1_000 * policy.linger_seconds) // MINUTE_MS


def _shared(release: Release, *, since_start: bool) -> list[Passed]:
    """The steps that gave the target traffic, or may have: by hand it may have got some since its start."""
    steps = {*SHARING, Step.START} if since_start else SHARING
    return [each for each in release.log if each.step in steps]


def _began(release: Release, shared: list[Passed]) -> int:
    return min((each.since_ms for each in shared), default=release.traffic_ms) // MINUTE_MS
