"""The canary as a process, with real brokers and a real collect; the test simulates the rest of the chain."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipelines.control.canary.documents import PIPES, CanaryPipe
from shared.contracts.canary_pause import PAUSE_PATH
from shared.contracts.documents import CANARY, Catalogue, key_digest
from shared.contracts.masks import REDACTED
from shared.kafka.config_topic import publish, read_catalogue
from shared.runtime.metrics import CanaryMetric
from tests.contract.collect.collected import Collected
from tests.contract.collect.process import CollectProcess
from tests.harness.service_process import ServiceProcess, hifi_settings
from tests.harness.waiting import eventually, free_port

_STOP_SECONDS = 45
"""Kubernetes gives it the same time, seconds."""

_TURN_SECONDS = 1.0
"""A canary of these tests sends five times a second: it would have sent by then."""


class CanaryProcess(ServiceProcess):
    """The canary on a port of its own, with a high rate and short intervals."""

    program = "pipelines.control.canary.__main__"
    stop_seconds = request_seconds = 60

    def __init__(self, bootstrap: str, collect_port: int, log: Path, **settings: str) -> None:
        environment = {
            "HIFI_BOOTSTRAP": bootstrap,
            "HIFI_COLLECT_URL": f"http://127.0.0.1:{collect_port}",
            "HIFI_ALLOW_LOOPBACK": "true",
            "HIFI_CANARY_RATE": "20",
            "HIFI_CANARY_SECONDS": "0.2",
            "HIFI_CANARY_MISSING_SECONDS": "1",
        }
        super().__init__(log, environment | hifi_settings(settings))

    def report(self) -> dict[str, bool]:
        """The body of /readyz; empty while nothing listens."""
        answer = self.readiness()
        if answer is None:
            return {}
        found: dict[str, bool] = answer.json
        assert found["ready"] == (answer.status == 200)
        return found

    def figure(self, metric: CanaryMetric, pipe: str | None = None) -> float:
        """A value of /metrics."""
        labels = {} if pipe is None else {"pipe": pipe}
        families = text_string_to_metric_families(self.request("GET", "/metrics").text)
        samples = [s for f in families for s in f.samples if s.name in (metric, f"{metric}_total")]
        return next(sample.value for sample in samples if sample.labels == labels)

    def seconds_to_stop(self) -> float:
        """Send SIGTERM; returns the seconds until it has ended, which must be with status 0."""
        began = time.monotonic()
        assert self.stop() == 0, self.log.read_text()
        return time.monotonic() - began


class HastyCanary(CanaryProcess):
    """Treats new documents as known two seconds after it has published them."""

    times: ClassVar[Mapping[str, float]] = {"pipelines.control.canary.service.LIVE_SECONDS": 2}


StartCanary = Callable[..., CanaryProcess]


@pytest.fixture
def start_canary(topics: str, tmp_path: Path) -> Iterator[StartCanary]:
    """Starts canaries that share a log, and ends them."""
    started: list[CanaryProcess] = []

    def start(collect_port: int, kind: type[CanaryProcess] = HastyCanary, **settings: str) -> CanaryProcess:
        started.append(kind(topics, collect_port, tmp_path / "canary.log", **settings))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture(scope="module")
def collect(configured: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectProcess]:
    process = CollectProcess(configured, tmp_path_factory.mktemp("collect") / "collect.log")
    try:
        process.wait_ready()
        yield process
    finally:
        process.kill()


def _published(bootstrap: str) -> Catalogue:
    return read_catalogue(bootstrap, "test", 60)


def _versions(bootstrap: str) -> dict[bytes, int]:
    entries = _published(bootstrap).entries
    return {key: entry.version for key, entry in entries.items() if entry.document.tenant == CANARY}


def _body(pipe: CanaryPipe, data: dict[str, Any]) -> bytes:
    """hifi's request for one event of a pipe."""
    shaped = {
        "masks": {**{k: v for k, v in data.items() if k != "note"}, "card": REDACTED},
        "transform": {"id": data["id"], "sent_ms": data["sent_ms"]},
    }.get(pipe.kind, data)
    event = {"specversion": "1.0", "id": data["id"], "data": shaped}
    text = {"batch": [event], "array": [shaped]}.get(pipe.format, event)
    return json.dumps(text).encode()


def test_every_pipes_events_are_sent_taken_and_awaited(
    start_canary: StartCanary, collect: CollectProcess, topics: str, tmp_path: Path
) -> None:
    collected = Collected(topics)
    canary = start_canary(collect.port)
    eventually(canary.ready, 120, "the canary is ready")
    eventually(lambda: canary.figure(CanaryMetric.ACKNOWLEDGED) >= 10, 120, "events are taken")
    eventually(lambda: canary.figure(CanaryMetric.MISSING, "canary-plain") >= 1, 120, "none is delivered")
    assert canary.seconds_to_stop() < _STOP_SECONDS, "it waits one second for missing events"
    items = collected.items()
    collected.close()
    assert len({item.id for item in items}) == len(items)

    source = _published(topics).sources[CANARY, CANARY]
    log = (tmp_path / "canary.log").read_text()
    assert "collect accepts events" in log
    words = re.findall(r"[\w-]{20,}", log)
    assert not {key_digest(word) for word in words} & set(source.write_keys), "the key is not logged"


@pytest.mark.proof
def test_arrivals_repetitions_and_changed_events_are_counted_by_pipe(
    start_canary: StartCanary, collect: CollectProcess, topics: str
) -> None:
    collected = Collected(topics)
    canary = start_canary(collect.port, canary_missing_seconds="60")
    eventually(
        lambda: canary.report() and canary.figure(CanaryMetric.ACKNOWLEDGED) >= 4, 120, "events are taken"
    )
    data = [json.loads(item.data or "") for item in collected.items()][:4]
    collected.close()
    urls = {name: each.options["url"] for (_, name), each in _published(topics).destinations.items()}
    for pipe in PIPES:
        assert urls[pipe.name] == f"http://127.0.0.1:{canary.port}/{pipe.kind}"
        for one in data:
            assert canary.request("POST", f"/{pipe.kind}", _body(pipe, one)).status == 204
        assert canary.figure(CanaryMetric.ARRIVED, pipe.name) == 4
        assert canary.figure(CanaryMetric.DOUBLED, pipe.name) == 0
        assert canary.figure(CanaryMetric.WRONG, pipe.name) == 0
    plain, masks = PIPES[0], next(pipe for pipe in PIPES if pipe.kind == "masks")
    canary.request("POST", "/plain", _body(plain, data[0]))
    assert canary.figure(CanaryMetric.DOUBLED, plain.name) == 1
    leak = json.dumps({"data": data[0]}).encode()
    canary.request("POST", "/masks", leak)
    assert canary.figure(CanaryMetric.WRONG, masks.name) == 1, "a value that a mask should have removed"
    assert canary.request("POST", "/plain", b"{").status == 400
    assert 0 <= canary.figure(CanaryMetric.P95) < 60_000


def test_a_pause_stops_what_is_sent_and_nothing_that_arrives_and_ends_by_itself(
    start_canary: StartCanary, collect: CollectProcess
) -> None:
    canary = start_canary(collect.port, canary_pause_seconds="600")
    eventually(lambda: canary.report().get("documents"), 120, "documents are published")
    time.sleep(_TURN_SECONDS)
    assert canary.figure(CanaryMetric.SENT) == 0, "it began with a pause"
    assert _pause(canary, "0") == 204
    eventually(lambda: canary.figure(CanaryMetric.ACKNOWLEDGED) >= 4, 120, "events are taken")
    assert _pause(canary, "60") == 204
    sent = canary.figure(CanaryMetric.SENT)
    time.sleep(_TURN_SECONDS)
    assert canary.figure(CanaryMetric.SENT) == sent
    stranger = _body(PIPES[0], {"id": "of an earlier one", "sent_ms": 0})
    assert canary.request("POST", "/plain", stranger).status == 204
    assert _pause(canary, "1") == 204
    eventually(lambda: canary.figure(CanaryMetric.SENT) > sent, 60, "the pause is over")


def test_a_pause_that_is_none_is_refused_and_says_what_it_has_to_be(
    start_canary: StartCanary, collect: CollectProcess
) -> None:
    canary = start_canary(collect.port)
    eventually(canary.report, 120, "it answers")
    for body in ("", "-1", "soon", "3601", "9" * 5_000, "\u00b2"):
        answer = canary.request("PUT", PAUSE_PATH, body.encode())
        assert (answer.status, "seconds of a pause, 0 to 3600" in answer.text) == (400, True), body[:20]


def _pause(canary: CanaryProcess, seconds: str) -> int:
    return canary.request("PUT", PAUSE_PATH, seconds).status


@pytest.mark.proof
def test_a_restarted_canary_changes_nothing_but_its_key(
    start_canary: StartCanary, collect: CollectProcess, topics: str
) -> None:
    port = str(free_port())
    first = start_canary(collect.port, CanaryProcess, canary_sinks=f"http://127.0.0.1:{port}")
    eventually(first.ready, 120, "the first canary is ready")
    first.seconds_to_stop()
    before = _versions(topics)
    second = start_canary(collect.port, CanaryProcess, canary_sinks=f"http://127.0.0.1:{port}")
    eventually(second.ready, 8, "the second canary is ready")  # nothing has to take effect first
    after = _versions(topics)
    assert {key for key in after if after[key] != before[key]} == {b"canary/source/canary"}


@pytest.mark.proof
def test_a_collect_that_is_away_is_waited_for(start_canary: StartCanary, topics: str, tmp_path: Path) -> None:
    process = CollectProcess(topics, tmp_path / "collect.log")
    try:
        process.kill()
        canary = start_canary(process.port)
        eventually(lambda: canary.report().get("documents"), 120, "documents are published")
        eventually(lambda: canary.figure(CanaryMetric.SENT) >= 8, 120, "it tries again")
        assert not canary.ready()
        process.restart()
        eventually(canary.ready, 120, "collect is back")
        process.kill()
        eventually(lambda: not canary.ready(), 120, "collect is away again")
        assert canary.seconds_to_stop() < _STOP_SECONDS
    finally:
        process.kill()


@pytest.mark.proof
def test_deleted_documents_come_back(start_canary: StartCanary, collect: CollectProcess, topics: str) -> None:
    canary = start_canary(collect.port)
    eventually(canary.ready, 120, "the canary is ready")
    publish(topics, "test", dict.fromkeys(_versions(topics)), 60)
    eventually(lambda: not canary.ready(), 120, "its key is unknown")
    eventually(canary.ready, 120, "it is known again")
    assert len(_versions(topics)) == 1 + 2 * len(PIPES)


def test_brokers_that_are_away_do_not_keep_a_canary_from_stopping(tmp_path: Path) -> None:
    canary = CanaryProcess(f"127.0.0.1:{free_port()}", free_port(), tmp_path / "canary.log")
    try:
        eventually(lambda: "documents" in canary.report(), 120, "it answers")
        assert canary.report() == {"ready": False, "documents": False, "collect": False}
        assert canary.seconds_to_stop() < _STOP_SECONDS
    finally:
        canary.kill()


def test_a_twin_without_a_public_address_has_an_idle_canary(
    start_canary: StartCanary, collect: CollectProcess, topics: str
) -> None:
    before = _versions(topics)
    canary = start_canary(collect.port, side="blue", allow_loopback="false")
    eventually(canary.ready, 120, "an idle canary is ready")
    assert canary.report() == {"ready": True, "idle": True}
    assert "idle: transmit cannot reach this process; set HIFI_CANARY_SINKS" in canary.log.read_text()
    assert canary.figure(CanaryMetric.SENT) == 0
    assert canary.seconds_to_stop() < _STOP_SECONDS
    assert _versions(topics) == before
