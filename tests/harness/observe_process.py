"""An observe process, and a client of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tests.harness.service_process import ServiceProcess, end_all, hifi_settings
from tests.harness.waiting import eventually

QUICK = {"look_seconds": "0.3", "store_seconds": "0", "settle_seconds": "1"}


class ObserveProcess(ServiceProcess):
    """observe on a port of its own, with short intervals."""

    program = "pipelines.control.observe.__main__"
    times: ClassVar[Mapping[str, float]] = {
        "pipelines.control.observe.health.activity_watch._EVERY_SECONDS": 0.3,
        "pipelines.control.observe.health.rollout_watch._EVERY_SECONDS": 0.3,
        "pipelines.control.observe.ledger_follower._TURN_SECONDS": 0.1,
        "pipelines.control.observe.service._PAUSE_SECONDS": 0.3,
        "pipelines.control.observe.timeline.recorder._EVERY_SECONDS": 0.3,
    }

    def __init__(self, bootstrap: str, store: str, log: Path, **settings: str) -> None:
        where = {"HIFI_BOOTSTRAP": bootstrap, "HIFI_STORE_ENDPOINT": store}
        super().__init__(log, where | hifi_settings(QUICK | settings))

    def ask(self, path: str, method: str = "GET", body: str | None = None) -> tuple[int, Any]:
        """Status of a response, and its JSON; its text where it is not JSON."""
        answer = self.request(method, path, body)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.status, answer.json if is_json else answer.text

    def get(self, path: str) -> Any:
        """JSON of a response that is 200."""
        status, found = self.ask(path)
        assert status == 200, found
        return found

    def card(self, minute: int, tenant: str = "acme") -> Any:
        """The card of an epoch minute."""
        return self.get(f"/v1/minutes/{minute}?tenant={tenant}")


@contextmanager
def running_observe(bootstrap: str, store: str, folder: Path) -> Iterator[ObserveProcess]:
    """One that is ready, with a table by the name of its folder, until the block ends."""
    process = ObserveProcess(bootstrap, store, folder / "observe.log", store_table=folder.name)
    try:
        eventually(process.ready)
        yield process
    finally:
        end_all([process])
