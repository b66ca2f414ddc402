"""The states shown for both sides, and the cost of finding them."""

import pytest

from pipelines.control.deploy.backend import BackendError, Rating
from pipelines.control.deploy.policy import Policy
from pipelines.control.deploy.side_states import side_states
from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, OLD
from tests.harness.release_world import ReleaseWorld


def test_what_is_shown_of_a_side_reads_none_of_its_dead_letters() -> None:
    world = ReleaseWorld()
    world.place.world.sides[LIGHT].retries = 4
    shown = {each.side: each for each in side_states(world.place, world.now_ms)}
    assert (shown[LIGHT].unread, shown[LIGHT].waiting) == (4, 4)
    assert (shown[DARK].unread, shown[DARK].waiting) == (None, 0)
    assert world.place.letter_looks == 0


def test_a_side_is_shown_though_its_rating_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ReleaseWorld()

    def fails(_: str) -> Rating | None:
        raise BackendError("the load test failed")

    monkeypatch.setattr(world.place, "rating", fails)
    shown = {each.side: each for each in side_states(world.place, world.now_ms)}
    assert (shown[LIGHT].version, shown[LIGHT].share, shown[LIGHT].rating) == (OLD, 100, None)
    assert shown[LIGHT].problem == ""


def test_dead_letters_are_counted_once_a_side_has_read_everything() -> None:
    world = ReleaseWorld(Policy(linger_seconds=0))
    world.place.world.sides[LIGHT].since_ms = world.now_ms + 3_600_000  # it reads nothing
    world.place.world.sides[LIGHT].end += 7
    world.ask(Kind.DEPLOY, "2.0")
    world.until(lambda release: release.step is Step.DRAIN)
    for _ in range(5):
        world.turn()
    assert world.place.letter_looks == 0
    world.place.world.sides[LIGHT].since_ms = 0
    world.place.counting_looks = 3
    world.turn()
    assert (world.release.step, world.release.said) == (
        Step.DRAIN, "nothing unread; its dead letters are being counted",
    )  # fmt: skip
    release = world.ended()
    said = next(each.said for each in release.log if each.step is Step.DRAIN)
    assert said == "nothing unread; dead letters: 2 410 gone"
    assert world.place.letter_looks == 4
