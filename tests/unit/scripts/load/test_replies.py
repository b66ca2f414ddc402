"""Meaning of a response: acknowledged, refused for good, to be retried, or hopeless."""

import msgspec
import pytest

from scripts.load.replies import Disposition, read_answer

IDS = ["a", "b"]


def answer(status: int, body: object = None) -> tuple[int, bytes]:
    return status, b"" if body is None else msgspec.json.encode(body)


def test_202_acknowledges_every_event() -> None:
    found = read_answer(*answer(202, {"accepted": 2, "ids": IDS}), {}, [])
    assert (found.disposition, found.accepted) == (Disposition.SETTLED, IDS)


def test_207_acknowledges_only_the_events_that_were_taken() -> None:
    items = [
        {"index": 0, "status": 202, "id": "a"},
        {"index": 1, "status": 400, "detail": "no id", "field": "id", "fix": "add one"},
    ]
    found = read_answer(*answer(207, {"accepted": 1, "refused": 1, "items": items}), {}, IDS)
    assert (list(found.accepted), list(found.refused)) == (["a"], ["id: no id"])


def test_400_of_a_whole_request_refuses_each_event() -> None:
    found = read_answer(*answer(400, {"detail": "truncated", "field": "$", "fix": "send all"}), {}, IDS)
    assert (found.disposition, found.accepted, len(found.refused)) == (Disposition.SETTLED, (), 2)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_transient_failures_are_repeated_after_retry_after(status: int) -> None:
    found = read_answer(status, b"<html>", {"Retry-After": "3"}, IDS)
    assert (found.disposition, found.accepted, found.wait_seconds) == (Disposition.AGAIN, (), 3.0)


@pytest.mark.parametrize("status", [401, 403, 404, 415])
def test_permanent_refusals_end_the_load(status: int) -> None:
    assert read_answer(status, b"", {}, IDS).disposition is Disposition.HOPELESS


@pytest.mark.parametrize("status", [200, 204, 301, 302, 307, 308])
def test_an_answer_that_collect_never_gives_acknowledges_nothing_and_names_where_it_points(
    status: int,
) -> None:
    found = read_answer(status, msgspec.json.encode({"ids": IDS}), {"Location": "https://there"}, IDS)
    assert (found.disposition, found.accepted) == (Disposition.HOPELESS, ())
    assert str(status) in found.reason
    assert "https://there" in found.reason and "--url" in found.reason
