"""Whether a lease's holder is alive, from other processes' point of view."""

from collections.abc import Callable

from shared.dynamodb.lease import Beat
from shared.dynamodb.lease_watch import moves

SECONDS = 25.0


class Lease:
    """A lease with a scripted beat on the test's clock."""

    def __init__(self, beat: Callable[[float], Beat | None]) -> None:
        self.now, self._beat = 0.0, beat

    def moves(self) -> bool:
        return moves(lambda: self._beat(self.now), SECONDS, monotonic=lambda: self.now, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_lease_that_is_renewed_has_a_living_holder() -> None:
    lease = Lease(lambda now: ("a", int(now // 20)))
    assert lease.moves()
    assert lease.now < 21


def test_the_lease_of_a_process_that_died_does_not_move() -> None:
    lease = Lease(lambda _: ("a", 7))
    assert not lease.moves()
    assert lease.now < SECONDS + 1


def test_a_lease_that_another_process_takes_over_has_a_living_holder() -> None:
    assert Lease(lambda now: ("a", 7) if now < 5 else ("b", 1)).moves()


def test_a_lease_that_is_given_up_is_waited_for_until_another_process_has_it() -> None:
    assert Lease(lambda now: ("a", 7) if now < 2 else None if now < 4 else ("b", 1)).moves()
    assert not Lease(lambda now: ("a", 7) if now < 2 else None).moves()


def test_where_no_process_ever_led_it_is_known_at_once() -> None:
    lease = Lease(lambda _: None)
    assert not lease.moves()
    assert lease.now == 0
