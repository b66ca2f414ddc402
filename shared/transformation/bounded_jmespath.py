"""JMESPath with a step budget: an expression that takes too many steps is stopped.

JMESPath always ends, but perhaps after too long: `[@,@]` doubles its input, so sixty of them in a pipe make
2^60 values. Each visit of a node of the tree costs one step. Operations that can multiply (selections, joined
texts, flattened arrays) cost as many steps as their result is large, charged before it takes memory.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
from jmespath import functions
from jmespath.visitor import Options, TreeInterpreter, _Expression

from shared.contracts.expressions import Node
from shared.transformation import lossless_json
from shared.transformation.step_budget import StepBudget, TooManyStepsError

_STEP_CHARACTERS: Final = 16
"""Characters of text, or of a number's text, that cost one step."""

_STEP_BITS: Final = 53
"""Bits of an integer that cost one step: about _STEP_CHARACTERS digits."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _signature(*types: Mapping[str, list[str]]) -> Callable[[_Method], _Method]:
    """The library's decorator with a type."""
    return functions.signature(*types)  # type: ignore[no-any-return]


class NoJsonError(Exception):
    """The result cannot be written as JSON; the text says why."""


class _TreeBudget(StepBudget):
    """A budget that can also be charged for a tree of values."""

    def spend_for(self, value: Any) -> None:
        """Spend a step for each value in a tree, counting shared parts twice, and more for long ones.

        Raises:
            TooManyStepsError: before the walk gets longer than that.
            NoJsonError: if a number in it is not finite, or an expression is in it.
        """
        left: list[Any] = [value]
        while left:
            item = left.pop()
            self.left -= 1
            kind = type(item)
            if kind is str:
                self.left -= len(item) // _STEP_CHARACTERS
            elif kind is dict:
                self.left -= sum(map(len, item)) // _STEP_CHARACTERS
                left += item.values()
            elif kind is list:
                left += item
            elif kind is int:
                self.left -= item.bit_length() // _STEP_BITS
            elif kind is lossless_json.ExactFloat:
                self.left -= len(item.text) // _STEP_CHARACTERS
            elif kind is float and not math.isfinite(item):
                raise NoJsonError("a number beyond all numbers")
            elif kind is _Expression:
                raise NoJsonError("an expression (&) instead of a value")
            if self.left < 0:
                raise TooManyStepsError


class _Functions(functions.Functions):  # type: ignore[misc]  # the library has no types
    """The library's class, with its work charged to the budget."""

    def __init__(self, budget: _TreeBudget) -> None:
        self._account = budget

    def call_function(self, function_name: str, resolved_args: list[Any]) -> Any:
        for argument in resolved_args:
            kind = type(argument)
            if kind is list or kind is dict:
                self._account.spend(len(argument))
            elif kind is str:
                self._account.spend(len(argument) // _STEP_CHARACTERS)
        return super().call_function(function_name, resolved_args)

    @_signature({"types": []})
    def _func_to_string(self, arg: Any) -> str:
        """Return JSON, with numbers as they were written."""
        if isinstance(arg, str):
            return arg
        self._account.spend_for(arg)
        text = lossless_json.encode(arg).decode()
        self._account.spend(len(text) // _STEP_CHARACTERS)
        return text

    @_signature({"types": []})
    def _func_to_number(self, arg: Any) -> Any:
        """Parse by JSON's grammar: the library would also accept "nan" and "1_000"."""
        found = arg
        if isinstance(arg, str):
            try:
                found = lossless_json.decode(arg)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return None
        infinite = isinstance(found, float) and not math.isfinite(found)
        return found if _number(found) and not infinite else None

    @_signature({"types": ["string"]}, {"types": ["array-string"]})
    def _func_join(self, separator: str, array: list[str]) -> str:
        length = sum(map(len, array)) + len(separator) * len(array)
        self._account.spend(length // _STEP_CHARACTERS)
        return separator.join(array)

    @_signature({"types": ["array", "string"]}, {"types": []})
    def _func_contains(self, subject: Any, search: Any) -> bool:
        if isinstance(search, list | dict):
            self._account.spend_for(subject)
        return search in subject if isinstance(subject, list) or isinstance(search, str) else False


class _Interpreter(TreeInterpreter):  # type: ignore[misc]  # the library has no types
    """The library's class, with its work charged to the budget."""

    def __init__(self, budget: _TreeBudget) -> None:
        super().__init__(Options(custom_functions=_Functions(budget)))
        self._account = budget

    def visit(self, node: Node, *args: Any, **kwargs: Any) -> Any:
        budget = self._account
        budget.left -= 1
        if budget.left < 0:
            raise TooManyStepsError
        return super().visit(node, *args, **kwargs)

    def visit_multi_select_list(self, node: Node, value: Any) -> Any:
        return self._charged(super().visit_multi_select_list(node, value))

    def visit_multi_select_dict(self, node: Node, value: Any) -> Any:
        return self._charged(super().visit_multi_select_dict(node, value))

    def visit_flatten(self, node: Node, value: Any) -> Any:
        """Like the library, which would build the whole array before its length could be charged."""
        base = self.visit(node["children"][0], value)
        if not isinstance(base, list):
            return None
        self._account.spend(sum(len(each) or 1 if isinstance(each, list) else 1 for each in base))
        flat: list[Any] = []
        for each in base:
            if isinstance(each, list):
                flat.extend(each)
            else:
                flat.append(each)
        return flat

    def visit_slice(self, node: Node, value: Any) -> Any:
        result = super().visit_slice(node, value)  # at most as long as the array that is there already
        if result is not None:
            self._account.spend(len(result))
        return result

    def visit_comparator(self, node: Node, value: Any) -> Any:
        """Like the library, but gives null for the order of a text and a number instead of raising."""
        operator = node["value"]
        left, right = (self.visit(child, value) for child in node["children"])
        if operator in self._EQUALITY_OPS:
            if isinstance(left, list | dict) and isinstance(right, list | dict):
                self._account.spend_for(left)
        elif not ((_number(left) and _number(right)) or (_text(left) and _text(right))):
            return None
        return self.COMPARATOR_FUNC[operator](left, right)

    def _charged(self, result: Any) -> Any:
        self._account.spend_for(result)
        return result


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> bool:
    return isinstance(value, str)


class Evaluation:
    """A compiled expression. Not thread-safe."""

    def __init__(self, tree: Node) -> None:
        self._tree = tree
        self._account = _TreeBudget()
        self._interpreter = _Interpreter(self._account)

    @property
    def left(self) -> int:
        """Steps left after the last evaluation."""
        return self._account.left

    def apply(self, event: Mapping[str, Any], steps: int) -> bytes | None:
        """The result as JSON; None if it is null.

        Raises:
            TooManyStepsError: if it takes more steps than `steps`.
            NoJsonError: if the result is not JSON.
            JMESPathError: if a function is given a type it does not take; its text holds the value.
            Exception: other ways in which values do not fit; their texts may hold a value, too.
        """
        self._account.left = steps
        result = self._interpreter.visit(self._tree, event)
        if result is None:
            return None
        self._account.spend_for(result)
        return lossless_json.encode(result)
