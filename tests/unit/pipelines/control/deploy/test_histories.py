"""Whatever happens during releases, in whatever order, they end, and both sides are whole."""

from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.deploy.backend import BackendError
from shared.contracts.release_requests import RequestRefusedError
from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, Bad, badly_ended, doubled
from tests.harness.release_world import QUICK, ReleaseWorld
from tests.unit.pipelines.control.deploy.test_kills import DiedError

VERSIONS = ["2.0", "3.0", Bad.DROPS, Bad.SLOWER, Bad.CRASHES, Bad.GARBAGE]
LONGEST: Final = 1_500


def _ask(kind: Kind, version: str, *, replay: bool) -> Callable[[ReleaseWorld], None]:
    def happen(world: ReleaseWorld) -> None:
        try:
            world.ask(kind, version if kind is Kind.DEPLOY else "", replay=replay)
        except RequestRefusedError as error:
            assert str(error)

    return happen


def _turns(count: int, seconds: float) -> Callable[[ReleaseWorld], None]:
    def happen(world: ReleaseWorld) -> None:
        for _ in range(count):
            _turn(world, seconds)

    return happen


def _turn(world: ReleaseWorld, seconds: float) -> None:
    try:
        world.turn(seconds)
    except DiedError:
        _recover(world)
        world.another()


def _fails(after: int, error: BaseException) -> Callable[[ReleaseWorld], None]:
    """Let one of the sides' next changes fail, before or after it takes effect."""

    def happen(world: ReleaseWorld) -> None:
        left = after

        def count(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                _recover(world)
                raise error

        world.place.before_call = world.place.after_call = count

    return happen


def _recover(world: ReleaseWorld) -> None:
    world.place.before_call = world.place.after_call = lambda _: None


def _is_not_ready(side: str, seconds: int) -> Callable[[ReleaseWorld], None]:
    """Restart a program of a side; meanwhile the side processes nothing."""

    def happen(world: ReleaseWorld) -> None:
        world.place.world.sides[side].since_ms = world.now_ms + 1_000 * seconds

    return happen


def _waits(world: ReleaseWorld) -> None:
    world.permissions.waits = [] if world.permissions.waits else ["green: maintenance is under way"]


def _is_patched(side: str) -> Callable[[ReleaseWorld], None]:
    def happen(world: ReleaseWorld) -> None:
        found = world.place.world.sides[side]
        found.patched = not found.patched

    return happen


Happening = Callable[[ReleaseWorld], None]
ASKED = st.builds(_ask, st.sampled_from(list(Kind)), st.sampled_from(VERSIONS), replay=st.booleans())
HAPPENINGS = st.one_of(
    ASKED,
    st.builds(_turns, st.integers(1, 8), st.sampled_from([1.0, 5.0, 61.0])),
    st.builds(_fails, st.integers(1, 4), st.just(BackendError("it does not answer"))),
    st.builds(_fails, st.integers(1, 4), st.just(DiedError("killed"))),
    st.builds(_is_not_ready, st.sampled_from([LIGHT, DARK]), st.integers(0, 90)),
    st.just(_waits),
    st.builds(_is_patched, st.sampled_from([LIGHT, DARK])),
    st.just(lambda world: world.another()),
)
ROUNDS = st.tuples(ASKED, st.lists(HAPPENINGS, max_size=10), st.booleans())
"""A request, incidents during its release, and whether the release may end before the next request."""


@given(st.lists(ROUNDS, min_size=1, max_size=5))
def test_releases_end_and_leave_both_sides_whole(
    rounds: Sequence[tuple[Happening, Sequence[Happening], bool]],
) -> None:
    world = ReleaseWorld(QUICK)
    world.place.world.cached_ms = 60_000
    for ask, happenings, to_end in rounds:
        ask(world)
        for happen in happenings:
            happen(world)
        if to_end:
            _to_end(world)
    _to_end(world)
    _turn(world, 20.0)
    world.now_ms += 100_000  # every program is ready by then
    world.place.weights()
    _assert_whole(world)


def _to_end(world: ReleaseWorld) -> None:
    """Run to the end without further faults."""
    _recover(world)
    world.permissions.waits = []
    for side in world.place.world.sides.values():
        side.patched = False
    for _ in range(LONGEST):
        if world.store.current() is None or world.release.ended:
            break
        _turn(world, 5.0)


def _assert_whole(world: ReleaseWorld) -> None:
    found, release = world.place.world, world.store.current()
    if release is not None:
        assert release.ended, release
    if release is not None and (release.kind, release.step) == (Kind.BURST, Step.DONE):
        assert found.shares == {LIGHT: 50, DARK: 50}
    else:
        assert sorted(found.shares.values()) == [0, 100]
    for name, share in found.shares.items():
        assert found.sides[name].parked == (not share), (name, release)
        assert not share or found.sides[name].version not in list(Bad), release
    assert not found.refused
    assert badly_ended(found) == []
    assert doubled(found) == []
