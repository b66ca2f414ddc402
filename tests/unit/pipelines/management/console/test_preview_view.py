"""A try of an event on a pipe, described in words, and the text that a person may submit."""

import json
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.console.pages.preview_view import preview_view
from pipelines.management.console.pages.try_panel import one_value
from shared.contracts.api_answers.previews import Preview

DESTINATION = {"name": "d", "connector": "webhook", "summary": "https://example.com/"}
HOSTILE = st.text() | st.sampled_from(["<img src=x onerror=alert(1)>", "</pre><script>x</script>", "&lt;'\""])


def preview(**fields: Any) -> Preview:
    """A preview as the API answers it."""
    if "problem" in fields:
        fields["problem"] = {"type": "about:blank", "title": "", "status": 422, **fields["problem"]}
    given = {"pipe": "p", "sample": {"percent": 10, "taken": True}, "matches": True, "event": None, **fields}
    return msgspec.json.decode(msgspec.json.encode(given), type=Preview)


class _Read(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(found: Preview) -> _Read:
    parser = _Read()
    parser.feed(preview_view(found))
    parser.close()
    return parser


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"leaves": True, "event": {"id": "1"}, "destination": DESTINATION},
            "It matches, and would be sent.",
        ),
        ({"matches": False, "unmet": {"path": ["type"], "wanted": ["a"], "found": ["b"]}}, "does not match"),
        ({"sample": {"percent": 0, "taken": False}}, "its id is not in the sample"),
        ({"problem": {"detail": "no"}, "destination": DESTINATION}, "would become a dead letter"),
        ({"problem": {"detail": "there is no destination"}}, "It would not be sent."),
        ({"matches": None, "problem": {"detail": "too many"}, "destination": DESTINATION}, "not be sent"),
    ],
)
def test_each_answer_has_its_verdict(fields: dict[str, Any], said: str) -> None:
    assert said in read(preview(**fields)).text


def test_a_condition_that_is_not_met_says_where_what_was_wanted_and_what_was_found() -> None:
    unmet = {"path": ["data", "rate"], "wanted": [{"numeric": [">", 5]}], "found": [3, "x"]}
    text = read(preview(matches=False, unmet=unmet)).text
    assert "data · rate" in text and '[{"numeric":[">",5]}]' in text and '3, "x"' in text


def test_a_problem_has_its_fix() -> None:
    error = {"document": "pipe/p", "pointer": "/transform", "detail": "no such function", "fix": "correct it"}
    assert "no such function (correct it)" in read(preview(problem={"detail": "x", "errors": [error]})).text


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_text_of_an_event_or_a_document_becomes_an_element(one: str, two: str, three: str) -> None:
    found = preview(
        unmet={"path": [one], "wanted": two, "found": [three]},
        destination={"name": one, "connector": two, "summary": three},
        event={one: two, three: [one]},
        problem={"detail": one, "errors": [{"pointer": two, "detail": two, "fix": three}]},
    )
    assert read(found).elements <= {"p", "span", "i", "dl", "div", "dt", "dd", "h3", "pre"}


@given(st.text(), st.sampled_from(["", "{", '{"id": 1', "nonsense"]))
def test_only_one_value_of_json_is_sent_so_that_nothing_typed_becomes_another_part_of_the_request(
    more: str, begin: str
) -> None:
    typed = begin + more
    try:
        sent = one_value(typed)
    except ValueError:
        return
    whole = json.loads(b'{"event": ' + bytes(sent) + b', "pipe": "p"}')
    assert whole == {"event": json.loads(typed), "pipe": "p"}


@pytest.mark.parametrize(
    "typed", ["", "{", '{"a": 1}, "pipe": "other"', "[" * 5_000, "\ud800", "1" * 100_001]
)
def test_what_is_not_one_value_of_json_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|at most"):
        one_value(typed)
