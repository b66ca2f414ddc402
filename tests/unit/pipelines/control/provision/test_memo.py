"""A kept result equals a newly computed one."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.provision.memo import Memo


class Counted:
    """Adds up, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, left: Sequence[int], right: Sequence[int]) -> int:
        self.calls += 1
        return sum(left) + sum(right)


OBJECTS = [[1], [2, 3], [1]]


@given(st.lists(st.tuples(st.sampled_from(OBJECTS), st.sampled_from(OBJECTS)), max_size=20))
def test_the_result_is_that_of_its_arguments_whatever_came_before(
    asked: list[tuple[list[int], list[int]]],
) -> None:
    memo = Memo(Counted())
    assert [memo(*each) for each in asked] == [sum(left) + sum(right) for left, right in asked]


def test_it_computes_once_for_the_same_objects_and_again_for_equal_ones() -> None:
    counted = Counted()
    memo = Memo(counted)
    one, other = [1], [2]
    assert [memo(one, other), memo(one, other), counted.calls] == [3, 3, 1]
    assert [memo(list(one), other), counted.calls] == [3, 2]


def test_what_is_forgotten_is_computed_again() -> None:
    counted = Counted()
    memo = Memo(counted)
    memo([], OBJECTS[0])
    memo.forget()
    assert [memo([], OBJECTS[0]), counted.calls] == [1, 2]
