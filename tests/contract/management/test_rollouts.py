"""A rollout through the API alone: shown with its pipe, controlled by editors, its share named by a try."""

from typing import Any

import pytest

from tests.contract.management.api_process import NEW, ApiProcess, destination

ROLLOUT = {"steps": [10, 100], "every": "1h"}
EVENT = {"specversion": "1.0", "id": "1", "source": "/a", "type": "order", "data": {}}
ROOT = "/v1/tenants/up"


@pytest.fixture(scope="module")
def pipes(api: ApiProcess) -> str:
    ends = {"source": "up.s", "destination": "up.d"}
    documents: list[dict[str, Any]] = [
        {"kind": "source", "name": "up.s"},
        {"kind": "destination", "name": "up.d", **destination()},
        {"kind": "pipe", "name": "up.plain", **ends},
        {"kind": "pipe", "name": "up.steps", **ends, "rollout": ROLLOUT},
    ]
    done = api.ask("POST", f"{ROOT}/apply", {"documents": documents})
    assert done.status == 200, done.text
    return f"{ROOT}/pipes"


def test_it_is_shown_with_its_pipe_led_by_an_editor_and_a_try_takes_its_share(
    api: ApiProcess, pipes: str
) -> None:
    editor, viewer = api.token("up", "editor"), api.token("up", "viewer")

    def asks(action: str, token: str = editor) -> int:
        return api.ask("POST", f"{pipes}/up.steps/rollout", {"action": action}, token=token).status

    def tried() -> float:
        answer = api.ask("POST", f"{ROOT}/try", {"event": EVENT, "pipe": "up.steps"}, token=viewer)
        return float(answer.json["items"][0]["sample"]["percent"])

    shown = api.ask("GET", f"{pipes}/up.steps", token=viewer).json
    assert (shown["rollout"]["state"], shown["rollout"]["share"]) == ("going up", 10)
    assert shown["document"]["rollout"]["stop_below"] == 95
    assert tried() == 10
    assert (asks("finish", viewer), asks("back"), tried()) == (403, 200, 0)
    assert (asks("resume"), tried(), asks("resume")) == (200, 10, 409)
    assert (asks("finish"), tried(), asks("pause")) == (200, 100, 409)
    assert "rollout" not in api.ask("GET", f"{pipes}/up.plain").json
    refused = api.ask("POST", f"{pipes}/up.plain/rollout", {"action": "pause"})
    assert (refused.status, "has no rollout" in refused.json["detail"]) == (409, True)
    unknown = api.ask("POST", f"{pipes}/up.steps/rollout", {"action": "jump"})
    assert (unknown.status, api.ask("POST", f"{pipes}/up.none/rollout", {"action": "back"}).status) == (
        422,
        404,
    )


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"rollout": {"steps": [10, 5, 100]}}, "/rollout/steps/1"),
        ({"rollout": {"steps": [10]}}, "/rollout/steps/0"),
        ({"rollout": {"every": "5m"}}, "/rollout"),
        ({"rollout": ROLLOUT, "sample": 50}, "/sample"),
        ({"rollout": ROLLOUT, "ramp": {"start": "2026-01-31T12:00:00Z", "minutes": 3}}, "/ramp"),
    ],
)
def test_one_that_cannot_be_followed_is_refused_with_a_pointer(
    api: ApiProcess, pipes: str, fields: dict[str, Any], pointer: str
) -> None:
    body = {"source": "up.s", "destination": "up.d"} | fields
    refused = api.ask("PUT", f"{pipes}/up.wrong", body, NEW)
    assert refused.status == 422
    assert [each["pointer"] for each in refused.json["errors"]] == [pointer]
