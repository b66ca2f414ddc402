"""The newest rating of a local side, and the result of an interrupted load test."""

from pathlib import Path
from typing import Any

import pytest

from scripts.local.side import Side
from scripts.local.twins import load_test
from scripts.local.twins.load_test import LoadTest
from shared.contracts.topics import Topic
from tests.harness.waiting import eventually


def _answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load test ends at once; each look at the topics finds more."""
    ends = iter(range(100, 10_000, 100))

    def counted(_: Any) -> dict[Topic, int]:
        return dict.fromkeys((Topic.EVENTS, Topic.RECEIPTS), next(ends))

    monkeypatch.setattr(load_test, "admin_client", lambda _: None)
    monkeypatch.setattr(load_test, "topic_ends", counted)
    monkeypatch.setattr(load_test, "warm_up", lambda *_: 500.0)


@pytest.mark.parametrize("content", [b"", b'{"version": "1.0", "events_per', b"{}"])
def test_a_rating_that_was_cut_off_counts_as_none_and_the_next_one_replaces_it(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _answers(monkeypatch)
    (tmp_path / "rating.json").write_bytes(content)
    tests = LoadTest(Side(root=tmp_path, name="green"), tmp_path)
    assert tests.rating() is None
    tests.begin("2.0")
    eventually(lambda: tests.rating() is not None, 60, "the load test is over")
    found = tests.rating()
    assert found is not None and found.version == "2.0"
