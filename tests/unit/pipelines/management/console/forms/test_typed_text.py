"""YAML typed by a person: its content, its largest size, and the place of an error."""

from collections.abc import Iterator

import pytest

from pipelines.management.console.forms import typed_text
from pipelines.management.console.forms.fields import document_fields
from pipelines.management.console.forms.typed_text import TypedError, document_of_text, with_lines
from pipelines.management.console.forms.values import document_of
from shared.contracts.api_answers.problems import FieldError
from shared.contracts.limits import MAX_DOCUMENT_BYTES
from shared.documents.yaml_loader import Section, sections

TOO_LONG = "[" * (MAX_DOCUMENT_BYTES + 1)
"""When it is read, it is not YAML."""


@pytest.mark.parametrize("text", ["a: [", "- a", "1: a", "a: 1\n---\nb: 2", "a: .nan\nb: {1: 2, [3]: 4}"])
def test_a_text_that_states_no_document_is_refused(text: str) -> None:
    with pytest.raises(TypedError):
        document_of_text(text)


def test_a_text_larger_than_a_document_is_refused_before_it_is_read() -> None:
    with pytest.raises(TypedError, match=r"262,145 bytes are too many.*at most 262,144"):
        document_of_text(TOO_LONG)
    wide = "a: " + "ä" * (MAX_DOCUMENT_BYTES // 2)
    with pytest.raises(TypedError, match="too many"):
        document_of_text(wide)


def test_the_fields_of_a_form_are_refused_if_they_are_larger_together() -> None:
    half = "[" * (MAX_DOCUMENT_BYTES // 2 + 1)
    with pytest.raises(TypedError, match="too many"):
        document_of({"/match": half, "/masks": half}, document_fields("pipes"), {})


def test_a_text_is_read_once_for_all_its_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(text: str) -> Iterator[Section]:
        read.append(text)
        return sections(text)

    monkeypatch.setattr(typed_text, "sections", counted)
    text = "name: a\nmatch:\n  type: [b]\nmasks:\n- {path: x}\n- {path: y}\n"
    pointers = ["/match/type/0", "/masks/1/path", "/match/none", "/name", ""]
    found = with_lines(text, [FieldError(pointer=each, detail="wrong") for each in pointers])
    assert [each.detail for each in found] == [*(f"line {n}: wrong" for n in (3, 6, 2, 1)), "wrong"]
    assert len(read) == 1


@pytest.mark.parametrize("text", ["a: [", "", TOO_LONG])
def test_an_error_of_a_text_that_cannot_be_read_is_on_its_first_line(text: str) -> None:
    assert with_lines(text, [FieldError(pointer="/a", detail="wrong")])[0].detail == "line 1: wrong"


UNWRITABLE = [
    ("{null: [a]}", 'quote the name null: "null"'),
    ("{data: {true: [a]}}", 'data: quote the name true: "true"'),
    ("[{data: {0.5: [a]}}]", '0.data: quote the name 0.5: "0.5"'),
    ("{data: {x: [1, .inf]}}", "data.x.1: write a finite number"),
    ("{x: .nan}", "x: write a finite number"),
    ("{x: 1e999}", "x: write a finite number"),
    ('{x: ["\\ud800"]}', "x.0: \\ud800 is half of a surrogate pair; write the character itself"),
    ('{"\\udfff": 1}', "\\udfff is half of a surrogate pair; write the character itself"),
]


@pytest.mark.parametrize(("text", "said"), UNWRITABLE)
def test_what_json_cannot_hold_is_refused_at_its_field_and_in_the_yaml_with_the_fix(
    text: str, said: str
) -> None:
    with pytest.raises(TypedError) as of_form:
        document_of({"/match": text}, document_fields("pipes"), {})
    assert [(each.pointer, each.detail) for each in of_form.value.errors] == [("/match", said)]
    with pytest.raises(TypedError) as of_text:
        document_of_text(f"match: {text}")
    (error,) = of_text.value.errors
    assert error.detail.startswith("match") and error.detail.endswith(said)


def test_a_text_with_half_a_surrogate_pair_is_refused_at_its_field() -> None:
    with pytest.raises(TypedError) as refused:
        document_of({"/transform": "'\ud800'"}, document_fields("pipes"), {})
    assert [each.pointer for each in refused.value.errors] == ["/transform"]


def test_names_may_be_whole_numbers_which_become_text() -> None:
    fields = document_fields("pipes")
    assert document_of({"/match": "{data: {1: [a]}}"}, fields, {}) == {"match": {"data": {1: ["a"]}}}
    assert document_of_text("match: {data: {1: [a]}}") == {"match": {"data": {1: ["a"]}}}
