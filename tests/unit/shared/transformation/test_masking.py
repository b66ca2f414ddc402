"""A masked value never leaves in any form; everything else leaves unchanged."""

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.document_parsing import ConfigError, parse
from shared.contracts.documents import Pipe
from shared.contracts.masks import Every, Mask, MaskError, mask_steps
from shared.transformation.masking import Masked, compiled, masked_json
from shared.transformation.step_budget import StepBudget
from tests.strategies import json_texts

KEY = b"key-of-acme"
PIPE = {"kind": "pipe", "name": "p", "tenant": "acme", "source": "s", "destination": "d"}


def budget() -> StepBudget:
    return StepBudget(10_000)


def applied(text: str, *masks: tuple[str, Any]) -> str | None:
    """Apply masks to the path `$`, the whole text."""
    found: list[Masked] = [(mask_steps(f"$.data{path}")[1:], action) for path, action in masks]
    masked = masked_json(text.encode(), found, KEY, budget())
    return None if masked is None else masked.decode()


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.data", ("data",)),
        ("$.data.user.email", ("data", "user", "email")),
        ("$.data['odd.name'][\"it's\"]", ("data", "odd.name", "it's")),
        ("$.data.items[*].card", ("data", "items", Every(), "card")),
        ("$.data.*.é-ü", ("data", Every(), "é-ü")),
        ("$.data[0][17]", ("data", 0, 17)),
        ("$['data'].a", ("data", "a")),
        ("$.subject", ("subject",)),
    ],
)
def test_a_path_is_steps(path: str, steps: tuple[Any, ...]) -> None:
    assert mask_steps(path) == steps


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("data.user", "starts with `$`"),
        ("", "starts with `$`"),
        ("$", "names no part"),
        ("$[0]", "names no part"),
        ("$.*", "names no part"),
        ("$..email", "from character 2"),
        ("$.data.user.", "from character 12"),
        ("$.data.user[", "from character 12"),
        ("$.data[-1]", "from character 7"),
        ("$.data.a b", "from character 9"),
        ("$.data[?a==1]", "from character 7"),
        ("$.id", "recognise the event"),
        ("$.source", "recognise the event"),
        ("$.data_base64", "is no attribute"),
        ("$.Subject", "is no attribute"),
        ("$.subject.name", "under $.data"),
    ],
)
def test_a_path_that_names_no_place_is_refused_with_the_place(path: str, said: str) -> None:
    with pytest.raises(MaskError, match=said.replace("$", r"\$")):
        mask_steps(path)


@pytest.mark.parametrize(
    ("masks", "path", "said"),
    [
        (
            [{"path": "$.data.a", "action": "redact"}, {"path": "$..a", "action": "drop"}],
            "$.masks[1].path",
            "from",
        ),
        ([{"path": "$.data.a", "action": "remove"}], "$.masks[0].action", "remove"),
        ([{"path": "$.data.a"}], "$.masks[0]", "action"),
        ([{"path": "$.data.a", "action": "drop", "why": 1}], "$.masks[0].why", "why"),
        ([{"path": "$.data.a", "action": "drop"}] * 101, "$.masks", "100"),
    ],
)
def test_a_document_with_a_wrong_mask_is_refused_at_its_place(masks: Any, path: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        parse({**PIPE, "masks": masks})
    assert caught.value.path == path


def test_masks_of_a_document_are_read() -> None:
    pipe = parse({**PIPE, "masks": [{"path": "$.data.a", "action": "hash"}]})
    assert isinstance(pipe, Pipe)
    assert compiled(pipe.masks) == ((("data", "a"), "hash"),)
    assert pipe.masks == [Mask(path="$.data.a", action="hash")]


def hashed(text: str) -> str:
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("text", "path", "action", "left"),
    [
        ('{"a":1,"b":{"c":2}}', ".b.c", "redact", '{"a":1,"b":{"c":"***"}}'),
        ('{"a":1,"b":{"c":2}}', ".b.c", "drop", '{"a":1,"b":{}}'),
        ('{"a":1,"b":{"c":2}}', ".b", "drop", '{"a":1}'),
        ('{"a":"me@x.org"}', ".a", "hash", f'{{"a":"{hashed("me@x.org")}"}}'),
        ('{"a":"\\u006de@x.org"}', ".a", "hash", f'{{"a":"{hashed("me@x.org")}"}}'),
        ('{"a": 1.10 }', ".a", "hash", f'{{"a":"{hashed("1.10")}"}}'),
        ('[{"a":1},{"b":2},[{"a":3}],4]', ".a", "drop", '[{},{"b":2},[{}],4]'),
        ("[1,2,3]", "[1]", "drop", "[1,3]"),
        ("[1,2,3]", "[*]", "redact", '["***","***","***"]'),
        ('{"a":{"x":1},"b":{"x":2}}', ".*.x", "redact", '{"a":{"x":"***"},"b":{"x":"***"}}'),
        ('{"\\u0061":1}', ".a", "redact", '{"a":"***"}'),
        ('{"a":{"s":1},"a":2}', ".a.s", "redact", '{"a":2}'),
        ('{"a":null}', ".a", "redact", '{"a":"***"}'),
        ('"text"', "", "redact", '"***"'),
    ],
)
def test_the_result_of_each_mask(text: str, path: str, action: str, left: str) -> None:
    assert applied(text, (path, action)) == left


def test_the_whole_can_be_dropped() -> None:
    assert applied("[1]", ("", "drop")) is None


def test_of_several_masks_on_one_value_the_strictest_counts() -> None:
    assert applied('{"a":1}', (".a", "hash"), (".*", "redact")) == '{"a":"***"}'
    assert applied('{"a":1}', (".a", "hash"), (".*", "redact"), (".a", "drop")) == "{}"


NUMBERS = '12345678901234567890 , 0.123456789012345678901234567890,1.10,1E+2, -0.0, "\\u0041\\/"'


def test_values_beside_the_way_keep_their_bytes() -> None:
    beside = f'{{"n": [ {NUMBERS} ],"d":1,"d":2}}'
    text = f'{{"user":{{"email":"a@b","more":{beside}}},"list":[ {NUMBERS} ]}}'
    masked = applied(text, (".user.email", "redact"))
    assert masked == f'{{"user":{{"email":"***","more":{beside}}},"list":[ {NUMBERS} ]}}'


@given(json_texts())
def test_a_text_without_the_place_keeps_its_bytes(text: str) -> None:
    assert applied(text, (".not-in-it.x", "redact"), (".not-in-it", "drop")) == text


# The law, compared with the plainest implementation: over trees of pairs, so that a name may occur twice.

NAMES = st.sampled_from(["a", "b", "c"])
Tree = Any


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Objects as tuples of pairs, arrays as lists, leaves as texts of their own."""
    number = 0

    def leaf() -> str:
        nonlocal number
        number += 1
        return draw(st.sampled_from([f'"leaf{number}x"', f"7{number:05}7.{number:020}10"]))

    def tree(depth: int) -> Tree:
        kind = draw(st.integers(0, 2)) if depth else 0
        if kind == 1:
            return tuple((draw(NAMES), tree(depth - 1)) for _ in range(draw(st.integers(0, 3))))
        return [tree(depth - 1) for _ in range(draw(st.integers(0, 3)))] if kind else leaf()

    return tree(4)


def written(tree: Tree) -> str:
    if isinstance(tree, tuple):
        return "{ " + ", ".join(f'"{name}" : {written(value)}' for name, value in tree) + "}"
    return "[" + " ,".join(map(written, tree)) + "]" if isinstance(tree, list) else str(tree)


def met(tree: Tree, steps: tuple[Any, ...]) -> list[str]:
    """Leaves at or below the place, including those that a later member of the same name hides."""
    if not steps:
        return leaves(tree)
    first, rest = steps[0], steps[1:]
    if isinstance(tree, tuple):
        hit = [value for name, value in tree if isinstance(first, Every) or name == first]
        return [leaf for value in hit for leaf in met(value, rest)]
    if not isinstance(tree, list):
        return []
    if isinstance(first, str):
        return [leaf for value in tree for leaf in met(value, steps)]
    hit = [value for at, value in enumerate(tree) if isinstance(first, Every) or at == first]
    return [leaf for value in hit for leaf in met(value, rest)]


def leaves(tree: Tree) -> list[str]:
    if isinstance(tree, tuple):
        return [leaf for _, value in tree for leaf in leaves(value)]
    return [leaf for value in tree for leaf in leaves(value)] if isinstance(tree, list) else [tree]


def visible(tree: Tree) -> list[str]:
    """Leaves that a parser finds: if a name occurs twice, those of the last."""
    if isinstance(tree, tuple):
        return [leaf for value in dict(tree).values() for leaf in visible(value)]
    return [leaf for value in tree for leaf in visible(value)] if isinstance(tree, list) else [tree]


STEPS = st.one_of(NAMES, st.just(Every()), st.integers(0, 2))
PATHS = st.lists(STEPS, max_size=4).map(tuple)
MASKS = st.lists(st.tuples(PATHS, st.sampled_from(["redact", "drop", "hash"])), min_size=1, max_size=3)


@given(trees(), MASKS)
def test_a_masked_value_is_nowhere_and_every_other_one_is_there(tree: Tree, masks: list[Masked]) -> None:
    masked = (masked_json(written(tree).encode(), masks, KEY, budget()) or b"").decode()
    gone = {leaf for steps, _ in masks for leaf in met(tree, steps)}
    assert not [leaf for leaf in gone if leaf.strip('"') in masked]
    assert not [leaf for leaf in set(visible(tree)) - gone if leaf not in masked]


@given(trees(), PATHS)
def test_what_a_redaction_leaves_has_the_structure_it_had(tree: Tree, steps: tuple[Any, ...]) -> None:
    def redacted(value: Any, left: tuple[Any, ...]) -> Any:
        if not left:
            return "***"
        first, rest = left[0], left[1:]
        if isinstance(value, dict):
            every = isinstance(first, Every)
            return {k: redacted(v, rest) if every or k == first else v for k, v in value.items()}
        if not isinstance(value, list):
            return value
        if isinstance(first, str):
            return [redacted(v, left) for v in value]
        return [
            redacted(v, rest) if isinstance(first, Every) or at == first else v for at, v in enumerate(value)
        ]

    def read(text: str | bytes) -> Any:
        return json.loads(text, parse_float=str, parse_int=str)

    text = written(tree)
    assert read(masked_json(text.encode(), [(steps, "redact")], KEY, budget()) or b"") == redacted(
        read(text), steps
    )


@given(trees(), PATHS)
def test_to_mask_again_changes_nothing_but_hashes(tree: Tree, steps: tuple[Any, ...]) -> None:
    once = masked_json(written(tree).encode(), [(steps, "redact")], KEY, budget())
    assert once is not None
    assert masked_json(once, [(steps, "redact")], KEY, budget()) == once


def test_equal_values_have_equal_hashes_within_a_tenant_only() -> None:
    masks: list[Masked] = [((Every(),), "hash")]
    one, two = (masked_json(b'["a@b","a@b","c"]', masks, key, budget()) or b"" for key in (b"1", b"2"))
    first, again, other = json.loads(one)
    assert first == again != other
    assert first not in json.loads(two)
