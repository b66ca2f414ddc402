"""A job with a version's own image reports how well it reads the sides' records."""

from collections.abc import Mapping

import msgspec
import pytest

from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.questions import Questions
from pipelines.control.backends.aws.readability import Readability
from pipelines.control.backends.aws.side_code import SideCode
from pipelines.control.backends.aws.side_record import NAMESPACE
from pipelines.control.backends.aws.versions import VersionStore
from pipelines.control.backends.aws.workloads import NAME, READABILITY
from pipelines.control.deploy.backend import BackendError, Obstacle
from pipelines.control.readability.answer import BROKERS_SILENT, POSITIONS, Reading
from tests.harness.fake_kube import FakeKube, deployment

OLD, NEW = "1.0", "2.0"
POSITION = {"ingest": {"collected/0": 7}}
GOOD = Reading(records={"events": 200})
WORSE = Reading(records={"events": 200}, refused={"events": 3})


class Sides:
    """Green is about to get a version, blue serves the old one; both have run the old one."""

    def __init__(self) -> None:
        self.kubes = {"blue": FakeKube(), "green": FakeKube()}
        self.runs = {"blue": OLD, "green": OLD}
        self.stored = {(version, side): version_of(version) for version in (OLD, NEW) for side in self.kubes}
        self.positions: Mapping[str, Mapping[str, int]] | None = POSITION
        self._found = Readability(
            lambda version, side: self.stored.get((version, side)),
            lambda side: Questions(self.kubes[side], side),
            self._positions,
        )

    def _positions(self, side: str) -> Mapping[str, Mapping[str, int]]:
        assert side == "green", "the other side is not to go on from its checkpoints"
        if self.positions is None:
            raise ValueError("offsets/9 is no JSON")
        return self.positions

    def asked(self) -> list[Obstacle] | None:
        found = self._found.obstacles(NEW, "green", self.runs, OLD)
        return None if found is None else list(found)

    def texts(self) -> list[str]:
        found = self.asked()
        assert found is not None
        assert all(each.lasting for each in found)
        return [each.text for each in found]

    def jobs(self, side: str) -> dict[str, Manifest]:
        """A side's jobs by version."""
        return {each["metadata"]["annotations"]["hifi/version"]: each for each in self.kubes[side].jobs}

    def answer(self, side: str, version: str, reading: Reading) -> None:
        self.end(side, version, msgspec.json.encode(reading).decode())

    def end(self, side: str, version: str, message: str, *, status: int = 0) -> None:
        name = self.jobs(side)[version]["metadata"]["name"]
        self.kubes[side].answer_job(name, message, status=status)


def version_of(version: str) -> list[Manifest]:
    """A version's manifests, as far as the job needs them, and a workload that it does not need."""
    container = {
        "name": "readability",
        "image": f"hifi/spark:{version}",
        "env": [{"name": "HIFI_ZONE", "value": "a"}],
        "envFrom": [{"configMapRef": {"name": f"side-{version}"}}],
    }
    pod = {"serviceAccountName": READABILITY, "containers": [container]}
    asked = {"suspend": True, "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    return [
        manifest("v1", "ServiceAccount", READABILITY),
        manifest("v1", "ConfigMap", f"side-{version}"),
        manifest("v1", "ConfigMap", f"spark-{version}"),
        manifest("batch/v1", "CronJob", READABILITY, asked),
        deployment("collect"),
    ]


def manifest(version: str, kind: str, name: str, spec: Manifest | None = None) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {NAME: name}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec or {}}


@pytest.fixture
def sides() -> Sides:
    return Sides()


def test_a_version_is_asked_on_both_sides_with_what_its_pod_needs_and_nothing_else_is_applied(
    sides: Sides,
) -> None:
    assert sides.asked() is None
    for side, positions in (("blue", {}), ("green", POSITION)):
        (job,) = sides.jobs(side).values()
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert container["image"] == f"hifi/spark:{NEW}"
        environment = {each["name"]: each["value"] for each in container["env"]}
        assert msgspec.json.decode(environment.pop(POSITIONS)) == positions
        assert environment == {"HIFI_ZONE": "a"}
        applied = {(each["kind"], each["metadata"]["name"]) for each in sides.kubes[side].objects.values()}
        assert applied == {
            ("ServiceAccount", READABILITY),
            ("ConfigMap", f"side-{NEW}"),
            ("Job", job["metadata"]["name"]),
        }


def test_a_version_that_reads_all_may_run_once_both_sides_have_been_read(sides: Sides) -> None:
    assert sides.asked() is None
    sides.answer("green", NEW, GOOD)
    assert sides.asked() is None
    sides.answer("blue", NEW, GOOD)
    assert sides.texts() == []
    assert list(sides.jobs("blue")) == [NEW], "the version that serves was not asked"


def test_what_a_version_refuses_is_an_obstacle_if_the_one_that_serves_reads_it(sides: Sides) -> None:
    assert sides.asked() is None
    sides.answer("green", NEW, GOOD)
    sides.answer("blue", NEW, WORSE)
    assert sides.asked() is None, "the version that serves reads the same"
    sides.answer("blue", OLD, GOOD)
    assert sides.texts() == [
        "version 2.0 refuses 3 of 200 records of events; the version that serves refuses 0"
    ]


def test_what_both_versions_refuse_is_the_fault_of_the_records(sides: Sides) -> None:
    assert sides.asked() is None
    sides.answer("green", NEW, GOOD)
    sides.answer("blue", NEW, WORSE)
    assert sides.asked() is None
    sides.answer("blue", OLD, WORSE)
    assert sides.texts() == []


def test_checkpoints_that_a_version_does_not_go_on_from_are_named(sides: Sides) -> None:
    sides.runs["blue"] = ""
    assert sides.asked() is None
    sides.answer("green", NEW, Reading(checkpoints=["it has no query ingest"]))
    assert sides.asked() is None
    sides.answer("green", OLD, GOOD)
    assert sides.texts() == [
        "version 2.0 cannot go on from the checkpoints of the side: it has no query ingest"
    ]


def test_checkpoints_that_cannot_be_understood_are_an_obstacle_at_once(sides: Sides) -> None:
    sides.positions = None
    assert sides.texts() == ["version 2.0 cannot read the checkpoints of green: offsets/9 is no JSON"]
    assert not sides.jobs("green")


def test_a_version_that_crashes_over_what_it_reads_is_refused_with_its_last_words(sides: Sides) -> None:
    sides.runs["blue"] = ""
    assert sides.asked() is None
    sides.end("green", NEW, "Traceback\nKeyError: 'headers'\n", status=1)
    assert sides.texts() == ["version 2.0 cannot read what green wrote: KeyError: 'headers'"]


def test_a_version_that_is_killed_over_what_it_reads_is_refused_with_how_it_ended(sides: Sides) -> None:
    sides.runs["blue"] = ""
    assert sides.asked() is None
    sides.end("green", NEW, "", status=137)
    assert sides.texts() == ["version 2.0 cannot read what green wrote: Error, exit status 137"]


@pytest.mark.parametrize("deadline", [False, True])
def test_a_question_that_nothing_answered_is_asked_anew(sides: Sides, deadline: bool) -> None:
    sides.runs["blue"] = ""
    assert sides.asked() is None
    (job,) = sides.jobs("green").values()
    if deadline:
        sides.kubes["green"].end_job(job["metadata"]["name"], "Failed")
    else:
        sides.end("green", NEW, "the brokers do not answer\n", status=BROKERS_SILENT)
    with pytest.raises(BackendError, match=r"2\.0 could not be asked what it reads of green"):
        sides.asked()
    assert not sides.jobs("green")
    assert sides.asked() is None
    assert list(sides.jobs("green")) == [NEW]


def test_an_answer_that_cannot_be_understood_lets_no_version_through(sides: Sides) -> None:
    sides.runs["blue"] = ""
    assert sides.asked() is None
    sides.end("green", NEW, "")
    with pytest.raises(BackendError, match="does not say what it reads of green"):
        sides.asked()


def test_sides_that_this_version_has_written_or_none_has_are_not_read(sides: Sides) -> None:
    sides.runs = {"blue": NEW, "green": ""}
    assert sides.texts() == []
    assert not any(kube.objects for kube in sides.kubes.values())


def test_checkpoints_that_this_version_has_written_itself_are_not_read(sides: Sides) -> None:
    sides.runs, sides.positions = {"blue": NEW, "green": NEW}, None
    assert sides.texts() == []


def test_a_version_that_is_older_than_the_question_is_not_asked(sides: Sides) -> None:
    for side in sides.kubes:
        sides.stored[NEW, side] = [deployment("collect")]
    assert sides.texts() == []


def test_a_version_that_is_stored_for_one_side_only_names_the_command(sides: Sides) -> None:
    del sides.stored[NEW, "blue"]
    with pytest.raises(BackendError, match=r"not stored for blue.*scripts/release/publish_version\.sh 2\.0"):
        sides.asked()


def test_a_parked_side_on_which_a_version_reads_is_parked_still() -> None:
    kube = FakeKube(READABILITY, "provision")
    code = SideCode(kube, VersionStore(None, ""), "green", lambda: 0)
    code.park(1)
    assert code.deployed().parked
    assert not kube.stopped
