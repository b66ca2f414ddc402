"""A side in AWS takes another version, whatever an earlier start left behind."""

from collections.abc import Sequence
from typing import Final

import pytest

from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.side_code import SideCode
from pipelines.control.backends.aws.versions import VersionStore
from pipelines.control.deploy.backend import BackendError
from tests.harness.fake_kube import FakeKube, binding, deployment, job, scaler

_COLLECT: Final = deployment("collect")
_VERSIONS: Final = {
    "1.0": [_COLLECT, scaler("collect", "collect"), binding("collect", "arn:events"), job("topics")],
    "other scaler": [_COLLECT, scaler("front", "collect"), binding("collect", "arn:events")],
    "other binding": [_COLLECT, scaler("collect", "collect"), binding("front", "arn:events")],
    # KEDA's webhook refuses it after everything else was applied.
    "refused": [_COLLECT, deployment("extra"), scaler("collect", "collect"), scaler("second", "collect")],
}


class Stored(VersionStore):
    """The stored versions."""

    def __init__(self) -> None:
        super().__init__(None, "")

    def manifests(self, version: str, side: str) -> Sequence[Manifest] | None:
        return _VERSIONS[version]


@pytest.fixture
def kube() -> FakeKube:
    return FakeKube()


@pytest.fixture
def code(kube: FakeKube) -> SideCode:
    """The code of a side on which 1.0 runs."""
    found = SideCode(kube, Stored(), "green", lambda: 0)
    found.start("1.0", 1)
    assert found.readiness().ready
    return found


def park(code: SideCode, kube: FakeKube) -> None:
    while not code.deployed().parked:
        code.park(1)
        kube.end(*kube.stopped)


@pytest.mark.parametrize("version", ["1.0", "other scaler"])
@pytest.mark.parametrize("parked", [True, False])
def test_what_a_start_that_broke_off_has_brought_goes_with_the_next_start(
    code: SideCode, kube: FakeKube, version: str, parked: bool
) -> None:
    for _ in range(2):
        with pytest.raises(BackendError, match="already managed"):
            code.start("refused", 1)
    assert "extra" in kube.pods
    if parked:
        park(code, kube)
    code.start(version, 1)
    assert kube.pods == ["collect"]
    assert code.readiness().waiting_for == ()
    assert code.deployed().version == version


@pytest.mark.parametrize(
    ("version", "kind"), [("other scaler", "scaledobjects"), ("other binding", "targetgroupbindings")]
)
def test_what_has_another_name_takes_the_place_of_the_former_at_the_same_target(
    code: SideCode, kube: FakeKube, version: str, kind: str
) -> None:
    code.start(version, 1)
    assert code.readiness().ready
    assert [path.rpartition("/")[2] for path in kube.objects if f"/{kind}/" in path] == ["front"]


@pytest.mark.parametrize("parked", [True, False])
def test_a_job_that_failed_is_named_and_runs_again_with_the_same_version(
    code: SideCode, kube: FakeKube, parked: bool
) -> None:
    kube.end_job("topics", "Failed")
    assert code.readiness().waiting_for == ("job topics failed",)
    if parked:
        park(code, kube)
    code.start("1.0", 1)
    (found,) = kube.jobs
    assert "conditions" not in found["status"], "it is another one"
    assert code.readiness().ready


def test_a_job_that_has_done_its_work_is_not_run_again_with_the_same_version(
    code: SideCode, kube: FakeKube
) -> None:
    kube.end_job("topics", "Complete")
    park(code, kube)
    code.start("1.0", 1)
    (found,) = kube.jobs
    assert "conditions" in found["status"], "it is the same"
