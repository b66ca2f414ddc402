"""Contents of requests, and refusals of unreadable ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.api import requests
from pipelines.management.api.problems import ProblemError, pointer
from pipelines.management.api.rights.rate_limits import RateLimits
from shared.contracts.limits import MAX_DOCUMENT_DEPTH


@pytest.mark.parametrize(
    ("if_match", "if_none_match", "expected"), [("*", None, None), ('"7"', None, 7), (None, "*", 0)]
)
def test_a_condition_is_the_version_that_the_writer_expects(
    if_match: str | None, if_none_match: str | None, expected: int | None
) -> None:
    assert requests.condition(if_match, if_none_match).expected == expected


@pytest.mark.parametrize(
    ("if_match", "if_none_match", "status"),
    [(None, None, 428), ("7", None, 400), ('W/"7"', None, 400), (None, '"7"', 400), ("*", "*", 400)],
)
def test_a_condition_that_is_missing_or_unclear_is_refused(
    if_match: str | None, if_none_match: str | None, status: int
) -> None:
    with pytest.raises(ProblemError) as refused:
        requests.condition(if_match, if_none_match)
    assert refused.value.status == status


@given(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,62}", fullmatch=True))
def test_a_cursor_leads_back_to_where_it_was_made(name: str) -> None:
    assert requests.after(requests.cursor_of(name)) == name


@given(st.text(max_size=40))
def test_a_foreign_cursor_is_refused_or_names_a_name(text: str) -> None:
    try:
        found = requests.after(text)
    except ProblemError as error:
        assert error.status == 400
    else:
        assert found is not None and requests.is_name(found)


@given(st.binary(max_size=60))
def test_a_body_is_a_value_or_refused(body: bytes) -> None:
    try:
        requests.plain(body)
    except ProblemError as error:
        assert error.status == 400


def test_a_path_becomes_a_json_pointer() -> None:
    assert pointer("$.match.data[0]") == "/match/data/0"
    assert pointer("$.options.a/b~c") == "/options/a~1b~0c"
    assert pointer("$") == ""


def test_a_token_may_burst_then_waits_and_others_do_not() -> None:
    now = [0.0]
    limits = RateLimits(2.0, lambda: now[0])
    assert [limits.wait("a") for _ in range(4)] == [0, 0, 0, 0]
    assert limits.wait("a") == pytest.approx(0.5)
    assert limits.wait("b") == 0
    now[0] = 0.5
    assert limits.wait("a") == 0


@pytest.mark.parametrize("levels", [MAX_DOCUMENT_DEPTH + 3, 900, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_body_that_is_nested_too_deeply_is_wrong_and_the_limit_is_named(
    levels: int, opening: str, closing: str
) -> None:
    with pytest.raises(ProblemError, match=f"more than {MAX_DOCUMENT_DEPTH} levels") as refused:
        requests.plain((opening * levels + "1" + closing * levels).encode())
    assert refused.value.status == 422
    with pytest.raises(ProblemError) as refused:
        requests.plain((opening * levels).encode())
    assert refused.value.status in (400, 422), "not JSON, or found to be too deep before its end"


def test_a_bundle_of_the_deepest_documents_is_read() -> None:
    levels = MAX_DOCUMENT_DEPTH + 2
    assert requests.plain(b"[" * levels + b"]" * levels)
