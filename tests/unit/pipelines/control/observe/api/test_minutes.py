"""`GET /v1/minutes` with and without hops."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from pipelines.control.observe.api.routes import build
from pipelines.control.observe.settings import ObserveSettings
from shared.contracts.scorecard import HopRow, MinuteCard, Node


class Answers:
    """A minute with a hop."""

    held = MinuteCard(
        tenant="acme", minute=3, settled=True, hops=[HopRow(node=Node.ROUTE, pipe="p", taken=1, given=1)]
    )

    def minutes(self, tenant: str, first: int, last: int) -> list[MinuteCard]:
        return [self.held]


def asked(query: str) -> Any:
    answers: Any = Answers()
    settings = ObserveSettings.model_validate({"bootstrap": "x:1"})
    with TestClient(
        build(answers, dict, CollectorRegistry(), lambda: 0, settings), base_url="http://127.0.0.1"
    ) as http:
        return http.get(f"/v1/minutes{query}").json()


@pytest.mark.parametrize(("query", "hops"), [("", 1), ("?hops=true", 1), ("?hops=false", 0)])
def test_hops_are_left_out_on_request_and_stay_in_the_held_cards(query: str, hops: int) -> None:
    (card,) = asked(query)
    assert (card["minute"], len(card["hops"])) == (3, hops)
    assert len(Answers.held.hops) == 1


def test_another_value_is_refused_by_its_name() -> None:
    assert asked("?hops=few")["error"].startswith("hops: ")
