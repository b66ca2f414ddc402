"""Event searches: two at once, and the next one is refused for now."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from pipelines.control.observe.api.queries import SEARCHES_AT_ONCE, Queries
from pipelines.control.observe.api.routes import build
from pipelines.control.observe.settings import ObserveSettings
from shared.kafka.offset_range_reader import OffsetRangeReader


class Topics:
    """Topics without records that answer when the test permits it."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Event()

    @contextmanager
    def opened(self) -> Iterator[Any]:
        yield self

    def whole(self, *_: object) -> list[object]:
        self.begun.release()
        assert self.may_end.wait(120)
        return []

    def since(self, *_: object) -> list[object]:
        return []

    read = since


def client(topics: Topics) -> TestClient:
    none: Any = None
    opened = cast("type[OffsetRangeReader]", topics.opened)
    queries = Queries(none, none, none, opened, lambda: 0, register=none, timeline=none)
    settings = ObserveSettings.model_validate({"bootstrap": "x:1"})
    return TestClient(
        build(queries, dict, CollectorRegistry(), lambda: 0, settings), base_url="http://127.0.0.1"
    )


def test_the_third_search_at_once_is_refused_until_one_has_ended() -> None:
    topics = Topics()
    with client(topics) as http:
        found: list[int] = []

        def search() -> None:
            found.append(http.get("/v1/events/e1").status_code)

        running = [threading.Thread(target=search) for _ in range(SEARCHES_AT_ONCE)]
        for each in running:
            each.start()
        for _ in running:
            assert topics.begun.acquire(timeout=60)
        refused = http.get("/v1/events/e1")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert "2 searches for events run already" in refused.json()["error"]
        topics.may_end.set()
        for each in running:
            each.join(60)
        assert found == [200] * SEARCHES_AT_ONCE
        assert http.get("/v1/events/e1").status_code == 200


def test_a_search_that_fails_makes_room_for_the_next() -> None:
    class Away(Topics):
        def whole(self, *_: object) -> list[object]:
            raise TimeoutError("away")

    with client(Away()) as http:
        assert [http.get("/v1/events/e1").status_code for _ in range(4)] == [503] * 4
        assert "topics cannot be read" in http.get("/v1/events/e1").json()["error"]
