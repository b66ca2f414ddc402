"""A side in AWS is parked in stages; each call continues where the one before stopped."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.side_code import SideCode
from pipelines.control.backends.aws.side_record import PODS
from pipelines.control.backends.aws.versions import VersionStore
from pipelines.control.backends.aws.workloads import PAUSED
from pipelines.control.deploy.backend import BackendError, FencedError
from tests.harness.fake_kube import FakeKube, deployment, scaler

FRONT = {"canary", "collect"}
CHAIN = {"ingest", "transmit", "retry"}
BASE = {"spark-master", "spark-worker", "audit"}
LAST = {"observe"}


def test_no_stage_begins_before_the_last_pod_of_the_one_before_has_ended() -> None:
    kube = FakeKube(*FRONT, *CHAIN, *BASE, *LAST, "provision", scaled=("collect", "spark-worker"))
    code = SideCode(kube, VersionStore(None, ""), "green", lambda: 0)

    def parked() -> set[str]:
        code.park(1)
        assert not code.deployed().parked
        return kube.stopped

    assert parked() == FRONT
    kube.end("canary")
    assert parked() == FRONT, "collect takes events still"
    kube.end("collect")
    assert parked() == FRONT | CHAIN
    kube.end("ingest", "retry")
    assert parked() == FRONT | CHAIN, "transmit ends a batch on the workers"
    kube.end("transmit")
    assert parked() == FRONT | CHAIN | BASE
    kube.end(*BASE)
    assert parked() == FRONT | CHAIN | BASE | LAST
    kube.end(*LAST)
    code.park(1)
    assert code.deployed().parked
    assert kube.pods == ["provision"]


def test_keda_does_not_scale_the_workers_to_zero_before_their_turn() -> None:
    kube = FakeKube("collect", "ingest", "spark-worker", scaled=("collect", "spark-worker"))
    code = SideCode(kube, VersionStore(None, ""), "green", lambda: 0)
    code.park(1)
    assert kube.paused == {"collect"}
    kube.end("collect")
    code.park(1)
    assert kube.paused == {"collect"}
    kube.end("ingest")
    code.park(1)
    assert kube.paused == {"collect", "spark-worker"}


class Suspended(FakeKube):
    """Its caller is suspended within the first change to a workload, and another deployer claims the side."""

    other: SideCode | None = None

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        super().merge(path, change)
        if self.other is not None:
            other, self.other = self.other, None
            other.claim(2)


def test_a_deployer_that_was_suspended_while_it_parked_puts_nothing_more_to_rest() -> None:
    kube = Suspended("canary", "collect", "observe")
    late, now = (SideCode(kube, VersionStore(None, ""), "green", lambda: 0) for _ in range(2))
    kube.other = now
    with pytest.raises(FencedError):
        late.park(1)
    assert len(kube.stopped) == 1


def test_what_a_late_deployer_put_to_rest_is_woken_by_the_next_start() -> None:
    kube = FakeKube("collect", "ingest", scaled=("collect",))
    code = SideCode(kube, Versions(), "green", lambda: 0)
    code.start("1.0.0", 1)
    kube.merge(kube.path(scaler("collect", "collect")), {"metadata": {"annotations": {PAUSED: "0"}}})
    for name in ("collect", "ingest"):
        kube.merge(kube.path(deployment(name)), {"spec": {"replicas": 0}})
    code.start("1.0.0", 2)
    assert (kube.stopped, kube.paused) == (set(), set())


class Crashing(FakeKube):
    """A cluster with pods that crash from the start; it refuses the first autoscaler."""

    refuses = True

    def apply(self, manifest: Manifest) -> None:
        if manifest["kind"] == "ScaledObject" and self.refuses:
            self.refuses = False
            raise BackendError("KEDA's webhook does not answer")
        super().apply(manifest)

    def list(self, path: str, selector: str) -> Sequence[Manifest]:
        found = super().list(path, selector)
        crashed = {"containerStatuses": [{"restartCount": 4}]}
        return [each | {"status": each["status"] | crashed} if path == PODS else each for each in found]


def test_crashes_are_counted_from_the_first_try_to_start_a_version_on() -> None:
    kube, clock = Crashing(), iter((0, 60_000))
    code = SideCode(kube, Versions(), "green", lambda: next(clock, 120_000))
    with pytest.raises(BackendError, match="webhook"):
        code.start("1.0.0", 1)
    code.start("1.0.0", 1)
    assert code.deployed().version == "1.0.0"
    assert code.readiness().crashes == 8


def test_crashes_of_a_version_that_was_not_started_whole_do_not_count_for_the_next() -> None:
    kube, clock = Crashing(), iter((0, 60_000))
    code = SideCode(kube, Versions(), "green", lambda: next(clock, 120_000))
    with pytest.raises(BackendError, match="webhook"):
        code.start("1.0.0", 1)
    code.start("2.0.0", 1)
    assert code.readiness().crashes == 0


def test_a_side_takes_events_with_a_pod_of_collect_that_is_ready() -> None:
    kube = FakeKube("collect", "ingest")
    code = SideCode(kube, VersionStore(None, ""), "green", lambda: 0)
    assert code.takes_events()
    kube.end("collect")
    assert not code.takes_events()


class Versions(VersionStore):
    """One version with collect and ingest."""

    def __init__(self) -> None: ...

    def manifests(self, version: str, side: str) -> Sequence[Manifest] | None:
        return [deployment("collect"), deployment("ingest"), scaler("collect", "collect")]
