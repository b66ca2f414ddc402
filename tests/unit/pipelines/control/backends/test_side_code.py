"""A side in AWS is parked in stages, each call going on where the one before left it."""

from pipelines.control.backends.aws.side_code import SideCode
from pipelines.control.backends.aws.versions import VersionStore
from tests.harness.fake_kube import FakeKube

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
