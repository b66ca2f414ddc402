"""A transform is checked before publication, follows JMESPath, and always ends soon."""

import copy
import json
import time
import tracemalloc
from contextlib import suppress
from functools import cache
from typing import Any

import jmespath
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from jmespath.exceptions import JMESPathError

from pipelines.data.transmit.connectors.http.formats import body
from shared.contracts.document_parsing import ConfigError, parse
from shared.contracts.documents import Pipe
from shared.contracts.expressions import ExpressionError, compile_expression
from shared.contracts.limits import MAX_EVENT_BYTES
from shared.transformation import lossless_json
from shared.transformation.bounded_jmespath import Evaluation
from shared.transformation.pipe_transform import (
    MOST_STEPS,
    TransformError,
    steps_for,
    transform_of,
)
from shared.transformation.step_budget import TooManyStepsError
from tests.strategies import json_texts
from tests.unit.pipelines.data.transmit.transmit_events import event
from tests.unit.shared.transformation.pipes import SECRET, shaped


def data(transform: str, value: bytes) -> str:
    return (shaped(transform, value=value).value or b"").decode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("data.", "ends too early, at character 6"),
        ("data.{a: b", "ends too early, at character 11"),
        ("data ] x", "is not JMESPath at character 6, near '] x'"),
        ("data.{\n  a: #\n}", "at line 2, character 6"),
        ("data.a b", "is not JMESPath at character 8"),
        (
            "lenght(data)",
            "calls lenght() at character 1, which JMESPath does not have; did you mean length()?",
        ),
        ("[data, xyzzy(@)]", "xyzzy() at character 8, which JMESPath does not have; it has abs"),
        ("length(data, `1`)", "with 2 arguments; it takes 1"),
        ("merge()", "with 0 arguments; it takes 1 or more"),
        ("map(data, items)", "put & before it"),
        ("&data", "uses & outside of a function"),
        ("data[::0]", "step 0"),
        ("(" * 5_000 + "data" + ")" * 3_000, "nested deeper"),
        ("!" * 200 + "data", "nested deeper"),
        ("x" * 8_193, "longer than 8192"),
        (f"data[{'1' * 4_301}]", "a number with too many digits"),
        (f"data[-{'1' * 4_301}:]", "a number with too many digits"),
    ],
)
def test_an_expression_that_cannot_work_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(text)
    assert said in str(caught.value)
    with pytest.raises(ConfigError) as refused:
        parse(
            {"kind": "pipe", "name": "p", "tenant": "t", "source": "s", "destination": "d", "transform": text}
        )
    assert refused.value.path == "$.transform"


def test_the_input_is_the_event_and_the_result_is_its_data() -> None:
    after = shaped("{who: data.user, what: type, subject: subject || 'none'}", value=b'{"user":{"n": 1}}')
    assert after.value == b'{"who":{"n":1},"what":"t","subject":"none"}'
    assert json.loads(body([after]))[0]["data"] == {"who": {"n": 1}, "what": "t", "subject": "none"}
    assert json.loads(body([after]))[0]["id"] == "e1"


def test_without_masks_and_transform_a_pipe_has_no_shape() -> None:
    assert transform_of(Pipe(name="p", tenant="t", source="s", destination="d")) is None


@pytest.mark.parametrize(
    "number",
    [
        "12345678901234567890",
        "-123456789012345678901234567890",
        "0.123456789012345678901234567890",
        "1.10",
        "1E+2",
    ],
)
def test_numbers_that_are_carried_through_keep_their_digits(number: str) -> None:
    value = b'{"a":{"n":%b},"list":[%b]}' % (number.encode(), number.encode())
    assert data("data.{x: a.n, y: list}", value) == f'{{"x":{number},"y":[{number}]}}'
    assert data("data.a.to_string(n)", value) == f'"{number}"'
    assert data("to_number(data.a.to_string(n))", value) == number


def test_numbers_can_be_calculated_with() -> None:
    assert data("sum(data)", b"[1.10, 2.20]") == "3.3000000000000003"
    assert data("max(data)", b"[1.10, 2.20]") == "2.20"
    assert data("data[?@ > `1.5`]", b"[1.10, 2.20]") == "[2.20]"
    assert data("type(data)", b"1.10") == '"number"'


@given(json_texts())
def test_data_that_is_passed_on_means_the_same(text: str) -> None:
    def read(found: str | bytes) -> Any:
        return json.loads(found, parse_float=str)

    assert read(lossless_json.encode(lossless_json.decode(text))) == read(text)


@pytest.mark.parametrize("text", ["1.10", "1e-07", "1e+16", "1E2", "1.7976931348623157e+308", "-0.0", "1e16"])
def test_a_number_that_is_passed_on_is_written_as_received(text: str) -> None:
    assert data("data", text.encode()) == text


EXPRESSIONS = [
    "@", "a", "a.b", "a[0]", "a[-1]", "*", "a.*", "[*].a", "[].b", "[]", "[?a]", "[?a==b]", "[?@ > `1`]",
    "[::-1]", "{x: a, y: b}", "[a, b]", "a || b", "a && b", "!a", "a == b", "a != b", "length(@)", "keys(@)",
    "values(@)", "sort(@)", "sort_by(@, &a)", "map(&a, @)", "max(@)", "min_by(@, &a)", "merge(@, @)",
    "reverse(@)", "type(@)", "to_array(@)", "not_null(a, b)", "contains(@, `1`)", "join(',', @)", "sum(@)",
    "avg(@)", "abs(@)", "ceil(@)", "starts_with(a, 'x')", "a | [0]", "to_string(a)",
]  # fmt: skip
SCALARS = st.sampled_from([None, True, False, -1, 0, 1, 2, 0.5, 2.5, "", "x", "xy"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=3).map(" | ".join), VALUES)
def test_the_step_budget_does_not_change_the_result_of_an_expression(expression: str, value: Any) -> None:
    try:
        wanted = jmespath.search(expression, copy.deepcopy(value))
    except JMESPathError:  # a function with unsuitable arguments
        wanted = None
    except TypeError:  # the library orders a text and a number, where JMESPath says null
        reject()
    try:
        found = Evaluation(compile_expression(expression)).apply(value, 100_000)
    except Exception:
        found = None
    assert (None if found is None else json.loads(found)) == wanted


DOUBLED = "|".join(["[@,@]"] * 60)
HOSTILE = [
    f"data|{DOUBLED}",
    "data|" + "|".join(["[@,@][]"] * 60),
    "data|" + "|".join(["{a:@,b:@}"] * 60),
    f"{{a:data|{DOUBLED},b:data|{DOUBLED}}}|a==b",
    f"contains([data|{DOUBLED}], [data|{DOUBLED}])",
    "data|" + "|".join(["to_string([@])"] * 90),
    "data|" + "|".join(["[to_string(@), to_string(@)]"] * 60),
    "data|" + "|".join(["[join(@[0], @), @[1]]"] * 60),
    "data|" + "|".join(["[[], @, @, @][]"] * 60),
    "data|" + "|".join(["map(&[@,@], @)"] * 60),
]
MANY = json.dumps(['x\\"' * 10] * 8_000).encode()
MEGABYTE = json.dumps(list(range(150_000)), separators=(",", ":")).encode()


@cache
def most_seconds() -> float:
    """CPU seconds: 5 on a machine that reads MEGABYTE in 16 ms, and more on a slower one."""
    found = []
    for _ in range(3):
        began = time.thread_time()
        json.loads(MEGABYTE)
        found.append(time.thread_time() - began)
    return 300 * min(found)


@pytest.mark.parametrize("expression", HOSTILE)
@pytest.mark.parametrize("value", [b'["ab","cd"]', MANY], ids=["small", "large"])
def test_an_expression_that_multiplies_is_stopped(expression: str, value: bytes) -> None:
    began = time.thread_time()
    with pytest.raises(TransformError, match=r"takes more than|more than \d+ bytes"):
        shaped(expression, value=value)
    assert time.thread_time() - began < most_seconds()


COSTLY = [
    "[" + ",".join(["length(to_string(data))"] * 300) + "]",
    "[" + ",".join(["data == data"] * 600) + "]",
    "data|" + "|".join(["sort(@)", "reverse(@)", "[::-1]"] * 30),
    "map(&map(&[@, @], [@, @]), data)",
    "data[?@ > `3` && @ < `9`]",
    "data[].{a: @, b: @}",
]


@pytest.mark.parametrize("expression", COSTLY)
@pytest.mark.parametrize("value", [MANY, MEGABYTE], ids=["texts", "numbers"])
def test_an_expression_that_does_much_ends_soon(expression: str, value: bytes) -> None:
    began = time.thread_time()
    with suppress(TransformError):
        shaped(expression, value=value)
    assert time.thread_time() - began < most_seconds()


ONES = json.dumps([1] * 5_000, separators=(",", ":")).encode()
LONG_FRACTION = b"0.%b" % (b"1" * 100_000)
SELECTED_OFTEN = "[" + ",".join(["data"] * 1_500) + "]"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f"map(&`[{','.join(['1'] * 4_000)}]`, data)[]", ONES),
        (f"map(&`{'1' * 4_000}`, data)", ONES),
        (SELECTED_OFTEN, LONG_FRACTION),
        (f"to_string({SELECTED_OFTEN})", LONG_FRACTION),
    ],
    ids=["flattened", "integers", "fractions", "fractions in a text"],
)
def test_what_multiplies_is_charged_before_it_takes_memory(expression: str, value: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(TransformError, match="takes more than"):
            shaped(expression, value=value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000


def test_flattening_many_empty_arrays_again_and_again_is_stopped() -> None:
    value = json.dumps([[]] * 150_000, separators=(",", ":")).encode()
    assert data("data[]", value) == "[]"
    with pytest.raises(TransformError, match="takes more than"):
        shaped(f"[{','.join(['length(data[])'] * 100)}]", value=value)


def test_steps_are_counted_and_not_timed_so_that_a_second_try_ends_the_same() -> None:
    evaluation, tree = Evaluation(compile_expression("data[].[@]")), {"data": list(range(100))}
    left = []
    for _ in range(2):
        evaluation.apply(tree, 10_000)
        left.append(evaluation.left)
    assert left[0] == left[1] < 10_000
    assert evaluation.apply(tree, 10_000 - left[0])
    with pytest.raises(TooManyStepsError):
        evaluation.apply(tree, 10_000 - left[0] - 1)


def test_a_transform_of_a_large_event_that_looks_at_each_item_fits() -> None:
    items = [{"id": at, "sku": f"sku-{at}", "price": at / 4, "quantity": 2} for at in range(8_000)]
    value = json.dumps(items).encode()
    assert len(value) < MAX_EVENT_BYTES
    assert steps_for(event(1, value=value)) == MOST_STEPS
    assert json.loads(data("data[?quantity == `2`].{id: id, price: price}", value))[7_999]["id"] == 7_999


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("data.missing", "the result is null"),
        ("abs(data.text)", "abs() takes number, and was given string"),
        ("sum(data.list)", "sum() takes array-number, and was given string"),
        ("sort_by(data.objects, &x)", "sort_by() takes"),
        ("join(data.text, data.objects)", "join() takes array-string, and was given object"),
        ("to_number('1e400')", "the result is null"),
        ("[data.huge, data.huge].sum(@)", "beyond all numbers"),
    ],
)
def test_a_transform_that_fails_says_why_without_a_value(expression: str, said: str) -> None:
    value = {
        "text": SECRET,
        "list": [1, SECRET],
        "objects": [{"x": [SECRET]}, {"x": SECRET}],
        "huge": 1.7e308,
    }
    with pytest.raises(TransformError) as caught:
        shaped(expression, value=json.dumps(value).encode())
    assert str(caught.value).startswith("transform_failed: ")
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)
    assert SECRET not in str(caught.value.__cause__)


def test_a_result_that_is_larger_than_an_event_may_be_is_refused() -> None:
    with pytest.raises(TransformError, match="more than 524288 bytes"):
        shaped("[data, data, data]", value=b'"' + b"x" * 300_000 + b'"')


def test_data_that_is_not_json_is_text_or_base64_and_becomes_json() -> None:
    text = shaped("{said: data}", value=b"hello", content_type="text/plain")
    (item,) = json.loads(body([text]))
    assert (item["datacontenttype"], item["data"]) == ("application/json", {"said": "hello"})
    assert dict(text.headers)["content-type"] == b"application/json"
    assert shaped("data_base64", value=b"\xff", content_type="image/png").value == b'"/w=="'
