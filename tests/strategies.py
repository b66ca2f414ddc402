"""Hypothesis strategies that several kinds of tests share."""

import json

from hypothesis import strategies as st

_SPACE = st.sampled_from(["", "", "", " ", "  "])

NASTY = [
    "12345678901234567890",
    "-98765432109876543210",
    "0.123456789012345678901234567890",
    "1.10",
    "1e5",
    "1E+2",
    "-0",
    "-0.0",
    '"\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\"',
    '"\\ud83d\\ude00"',
    '"😀 é \u2028 \u2029 \u007f"',
    '{"a":1,"a":2}',
    '{"":{"":[]}}',
    "[ ]",
    "{ }",
    "null",
    "true",
    "\"$.a['b']\"",
    '"</script>"',
]
"""Texts that parsing and dumping would change, or that look like another type."""


def json_texts() -> st.SearchStrategy[str]:
    """Valid JSON documents as *texts*: numbers, escapes, spaces and duplicate keys as written."""
    strings = st.text(st.characters(codec="utf-8"), max_size=20)
    scalars = st.one_of(
        st.sampled_from(NASTY),
        strings.map(lambda text: json.dumps(text, ensure_ascii=True)),
        strings.map(lambda text: json.dumps(text, ensure_ascii=False)),
        st.integers(-(10**20), 10**20).map(str),
        st.decimals(-(10**9), 10**9, allow_nan=False, places=21).map(lambda number: format(number, "f")),
    )
    return st.recursive(scalars, _containers, max_leaves=8)


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    names = st.text(st.characters(codec="utf-8"), max_size=8).map(json.dumps)
    arrays = st.tuples(_SPACE, st.lists(inner, max_size=4)).map(lambda a: "[" + f",{a[0]}".join(a[1]) + "]")
    members = st.lists(st.tuples(names, inner), max_size=4)
    objects = st.tuples(_SPACE, members).map(
        lambda o: "{" + f",{o[0]}".join(f"{name}:{o[0]}{value}" for name, value in o[1]) + "}"
    )
    return st.one_of(arrays, objects)
