"""The price of a comparison grows with the things that make it slow, and with nothing else."""

from typing import Any

import pytest

from shared.contracts.comparing_steps import COMPARED, Comparing, comparing
from shared.contracts.matchers import compile_matchers


def steps(*matchers: Any) -> Comparing:
    return comparing(compile_matchers(list(matchers), "."))


@pytest.mark.parametrize("operator", ["equals-ignore-case", "prefix", "suffix"])
def test_an_operand_without_regard_to_case_is_lowered_for_each_value(operator: str) -> None:
    def of(operand: str) -> Comparing:
        ignoring = {"equals-ignore-case": operand}
        return steps(ignoring if operator == "equals-ignore-case" else {operator: ignoring})

    more = of("p" * 200_000).per_value - of("p").per_value
    assert (more, of("é" * 200_000).per_value > 1.9 * more) == (199_999, True)
    assert of("p").per_block == of("p" * 200_000).per_block == 1_024


@pytest.mark.parametrize(
    ("wildcard", "a_character"),
    [
        ("ab", 1),
        ("*ab*cd", 1),
        ("*.example.com/*", 1),
        ("a" * 900, 1),
        ("a" * 900 + "*b*", 1),
        ("*" + "a" * 7 + "b*", 1),
        ("*" + "a" * 8 + "b*", 2),
        ("*" + "ab" * 8 + "c", 2),
        ("*x*" + "a" * 797 + "b*", 100),
        (r"*\*\*\*\*\*\*\*\*b*", 2),
    ],
)
def test_a_wildcard_reads_a_character_as_often_as_it_repeats_its_beginning(
    wildcard: str, a_character: int
) -> None:
    assert steps({"wildcard": wildcard}).per_block == 1_024 * a_character
    assert steps({"anything-but": {"wildcard": [wildcard, "*"]}}).per_block == 1_024 * (a_character + 1)


def test_texts_are_looked_up_together_and_numbers_compared() -> None:
    many = [f"t{number}" for number in range(1_000)]
    assert steps(*many) == steps("t", True, None) == Comparing(10, 32)
    assert steps(*many, 5) == Comparing(COMPARED, 32)
    assert steps({"anything-but": many}) == Comparing(COMPARED * 100, 0)


def test_what_looks_at_no_value_costs_nothing_and_the_rest_by_operands() -> None:
    assert steps({"exists": True}, {"exists": False}) == Comparing(0, 0)
    assert steps({"numeric": [">", 0, "<", 5]}) == steps({"prefix": "a"}) == Comparing(COMPARED, 0)
    assert steps({"suffix": ["a", "b"]}, "c") == Comparing(2 * COMPARED + 10, 32)
    assert Comparing(10, 32).of(3, 1_023) == 30 + 31
