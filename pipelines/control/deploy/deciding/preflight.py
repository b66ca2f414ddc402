"""Before a release changes anything: which side is dark, and whether the version can run there. Pure."""

from msgspec.structs import replace

from pipelines.control.deploy.backend import Weights
from pipelines.control.deploy.deciding.seen import Look
from pipelines.control.deploy.deciding.transitions import undone
from shared.contracts.release_steps import Kind
from shared.contracts.releases import Release


def after_preflight(at: Look) -> Release:
    """The release after a look before its first step."""
    if at.seen.weights is None:
        return at.release
    if not at.release.target:
        return _with_sides(at, at.seen.weights)
    if at.release.kind in (Kind.BURST_OFF, Kind.ROLLBACK):
        return _back_to_former(at, at.seen.weights)
    return _checked(at)


def shares(weights: Weights) -> str:
    """Weights in words."""
    return ", ".join(f"{side} {share} %" for side, share in weights.items())


def _back_to_former(at: Look, weights: Weights) -> Release:
    """A version that has served before is not checked again: the way back is to be short."""
    if at.release.kind is Kind.ROLLBACK and not weights.get(at.release.former):
        return undone(at.release, f"the traffic was moved since: {shares(weights)}", at.now_ms)
    if at.seen.closed:
        return undone(at.release, at.seen.closed, at.now_ms)
    return at.onward(f"back to {at.release.version} on {at.release.target}")


def _with_sides(at: Look, weights: Weights) -> Release:
    """The side without traffic is the target."""
    dark = [side for side, share in weights.items() if share == 0]
    if len(dark) != 1:
        return undone(at.release, f"both sides take traffic ({shares(weights)}): none is dark", at.now_ms)
    former = next(side for side in weights if side != dark[0])
    serves = at.seen.deployed[former].version
    if not serves:
        return undone(at.release, f"it is not known what {former} runs", at.now_ms)
    if at.release.kind is Kind.DEPLOY and at.release.version == serves:
        return undone(at.release, f"{serves} serves already, on {former}", at.now_ms)
    version = at.release.version or serves
    return replace(at.release, target=dark[0], former=former, former_version=serves, version=version)


def _checked(at: Look) -> Release:
    """After what was found of the version so far."""
    if at.seen.unroutable:
        return undone(at.release, at.seen.unroutable, at.now_ms)
    if at.seen.obstacles is None:
        return replace(at.release, said=f"checks whether {at.release.target} can run {at.release.version}")
    lasting = [each.text for each in at.seen.obstacles if each.lasting]
    if lasting:
        return undone(at.release, "; ".join(lasting), at.now_ms)
    if at.seen.obstacles:
        return replace(at.release, said="; ".join(each.text for each in at.seen.obstacles))
    if at.seen.no_way_back:
        why = f"{at.release.former_version} serves and could not be started again, so there is no way back"
        return undone(at.release, f"{why}: {at.seen.no_way_back}", at.now_ms)
    return at.onward(f"{at.release.version} can run on {at.release.target}")
