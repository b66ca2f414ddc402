"""Conversions between documents and the text typed into their forms."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.console.forms.fields import Shape, document_fields
from pipelines.management.console.forms.typed_text import TypedError, one_value
from pipelines.management.console.forms.values import document_of, spread, typed
from pipelines.management.console.forms.yaml_text import TooLongError, difference, document_text, written
from shared.contracts.api_answers.problems import FieldError

OPTIONS: dict[str, Any] = {
    "$ref": "#/$defs/Options",
    "$defs": {
        "Options": {
            "type": "object",
            "required": ["url"],
            "properties": {
                "url": {"type": "string"},
                "method": {"enum": ["POST", "PUT"], "default": "POST"},
                "gzip": {"type": "boolean", "default": False},
                "login": {"anyOf": [{"$ref": "#/$defs/Login"}, {"type": "null"}], "default": None},
                "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
        "Login": {"type": "object", "properties": {"user": {"type": "string"}}},
    },
}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["on", "1e3", "0o17"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def test_a_connectors_schema_becomes_fields_of_the_form() -> None:
    fields = {each.pointer: each for each in document_fields("destinations", OPTIONS)}
    assert "/options" not in fields and "/tenant" not in fields
    assert fields["/options/url"].required and not fields["/options/login/user"].required
    assert fields["/options/method"].choices == ("POST", "PUT")
    assert [fields[f"/options/{name}"].shape for name in ("gzip", "headers")] == [Shape.FLAG, Shape.YAML]
    assert fields["/batch/max_events"].default == 500


def test_a_form_that_nobody_touched_states_the_same_document() -> None:
    document = {
        "connector": "webhook",
        "options": {"url": "https://x.example", "gzip": True, "headers": {"a": "on"}, "unknown": [1]},
        "timeout_seconds": 2.5,
        "limits": {"requests": 3},
        "of_a_newer_version": {"x": 1},
    }
    fields = document_fields("destinations", OPTIONS)
    assert document_of(typed(document, fields), fields, document) == document


def test_a_field_that_is_emptied_goes_with_what_held_only_it() -> None:
    fields = document_fields("pipes")
    document = {"source": "s", "ramp": {"start": "2026-01-31T12:00:00Z", "minutes": 5}}
    texts = typed(document, fields) | {"/ramp/start": "", "/ramp/minutes": " "}
    assert document_of(texts, fields, document) == {"source": "s"}


def test_every_text_that_cannot_be_read_is_named_at_once() -> None:
    fields = document_fields("destinations")
    texts = {
        "/timeout_seconds": "soon",
        "/batch/max_events": "1.5",
        "/options": "a: [",
        "/limits/rate": "nan",
    }
    with pytest.raises(TypedError) as refused:
        document_of(texts, fields, {})
    assert {each.pointer for each in refused.value.errors} == set(texts)


def test_an_error_is_shown_at_the_nearest_field_and_else_in_the_list() -> None:
    fields = document_fields("pipes")
    inside = FieldError(pointer="/match/data/0", detail="is no pattern", fix="write a list")
    shown, others = spread([inside, FieldError(pointer="/colour", detail="unknown")], fields)
    assert shown == {"/match": "data/0: is no pattern (write a list)"}
    assert [each.pointer for each in others] == ["/colour"]


@given(PLAIN)
def test_what_is_written_as_yaml_is_read_as_the_same(value: Any) -> None:
    assert one_value(written({"value": value})) == {"value": value}


def test_the_yaml_of_a_source_leaves_its_keys_digests_out() -> None:
    text = document_text({"write_keys": ["sha256:00"], "tenant": "t", "kind": "source", "name": "s"})
    assert text == "kind: source\nname: s\ntenant: t\n"


def test_a_difference_escapes_what_it_shows() -> None:
    shown = difference({"x": "<script>"}, {"x": "<b>"})
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert "No difference" in difference({"x": 1}, {"x": 1})


def test_a_change_in_a_large_document_is_shown_where_it_is() -> None:
    before = {"values": list(range(6_000))}
    after = {"values": [*range(3_000), "new", *range(3_000, 6_000)]}
    shown = difference(before, after)
    assert "@@ -2999,6 +2999,7 @@" in shown and "+- new" in shown
    assert shown.count("<span") == 1 + 3 + 1 + 3


def test_a_difference_of_very_many_lines_is_not_searched_for_but_said() -> None:
    before, after = ({"values": [at * step % 5_003 for at in range(5_003)]} for step in (2, 3))
    shown = difference(before, after)
    assert "differ in up to 5,0" in shown and "hifi history" in shown and "<span" not in shown


def test_yaml_that_is_much_longer_than_its_document_is_refused_and_said_in_a_difference() -> None:
    deep: Any = list(range(6_000))
    for _ in range(100):
        deep = [deep]
    with pytest.raises(TooLongError, match="hifi get KIND NAME"):
        written(deep)
    shown = difference({"x": 1}, {"x": deep})
    assert "cannot be compared here" in shown and "<span" not in shown
