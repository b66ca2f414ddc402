"""Both sides through the API, from the deployer's table or from a single side's observe."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

import msgspec
import pytest

from scripts.local.side import Side
from shared.contracts.diamond.activities import Action
from shared.contracts.diamond.stability import SILENT, Stability
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Passed, Positions, Release, SideState
from shared.contracts.sides import DeployerStatus, Sides, SideStatus, state_of
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.release_store import ReleaseStore
from shared.runtime.clock import wall_clock
from tests.contract.management.api_process import ApiProcess, running_api
from tests.harness.command_line import Hifi
from tests.harness.scripted_observe import ScriptedObserve, scripted_observe


@pytest.fixture(scope="module")
def observe() -> Iterator[ScriptedObserve]:
    with scripted_observe() as found:
        yield found


@pytest.fixture(scope="module")
def own(
    observe: ScriptedObserve, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiProcess]:
    """An API of the side `solo`, with a table that no deployer has written."""
    folder = tmp_path_factory.mktemp("api")
    with running_api(folder, dynamodb_local, observe_url=observe.url, side="solo") as process:
        yield process


@pytest.fixture(scope="module")
def deployed(
    observe: ScriptedObserve, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiProcess]:
    """An API with a table that a deployer writes."""
    folder = tmp_path_factory.mktemp("api")
    with running_api(folder, dynamodb_local, observe_url=observe.url) as process:
        yield process


def asked(api: ApiProcess) -> Sides:
    answer = api.ask("GET", "/v1/sides")
    assert answer.status == 200, answer.text
    return msgspec.json.decode(answer.text, type=Sides)


def command(api: ApiProcess, observe: ScriptedObserve, **more: str) -> Hifi:
    table = {"HIFI_DOCUMENTS_TABLE": api.table, "HIFI_DOCUMENTS_ENDPOINT": api.endpoint}
    return Hifi(None, table | {"HIFI_OBSERVE_URL": observe.url} | more)


def test_a_lone_side_speaks_for_itself_in_the_api_and_in_the_terminal(
    own: ApiProcess, observe: ScriptedObserve
) -> None:
    register = ActivityRegister(
        own.table, own.endpoint, side="solo", owner="ann", clock=wall_clock, monotonic=monotonic
    )
    register.begin(Action.MAINTAIN, "a patch", Stability(stable=True), lease_seconds=900)
    observe.reasons = ["alarm burn: late"]
    found = asked(own)
    (side,) = found.sides
    assert (found.deployer, found.release, found.ended) == (DeployerStatus.NONE, None, [])
    assert (side.side, side.version, side.share, side.rating, side.unread) == ("solo", None, None, None, None)
    assert (side.stable, side.reasons) == (False, ["alarm burn: late"])
    assert [str(each) for each in side.activities] == ["maintenance: maintain (a patch)"]

    hifi = command(own, observe, HIFI_SIDE="solo")
    said = msgspec.convert(hifi.json("sides"), Sides)
    assert said.sides[0].activities == side.activities and said.deployer == found.deployer
    shown = hifi.run("sides")
    assert shown.returncode == 0, shown.stderr
    assert "maintenance: maintain (a patch); alarm burn: late" in shown.stdout
    assert "no deployer runs: the side speaks for itself" in shown.stderr
    unnamed = command(own, observe).run("sides")
    assert unnamed.returncode == 1 and "no deployer runs" in unnamed.stderr

    observe.silent = True
    (away,) = asked(own).sides
    assert (state_of(away), away.problem, away.reasons) == (SideStatus.UNKNOWN, SILENT.reasons[0], [])


def test_the_observe_of_a_local_side_is_not_asked_about_another(
    own: ApiProcess, observe: ScriptedObserve, tmp_path: Path
) -> None:
    observe.silent, observe.reasons = False, []
    local = Side(root=tmp_path)
    port = int(observe.url.rpartition(":")[2]) - (local.observe_port - local.port)
    replace(local, port=port).create()  # its observe says that it is stable
    table = {"HIFI_DOCUMENTS_TABLE": own.table, "HIFI_DOCUMENTS_ENDPOINT": own.endpoint}
    hifi = Hifi(tmp_path, table | {"HIFI_SIDE": "solo"})
    (side,) = msgspec.convert(hifi.json("sides"), Sides).sides
    assert (side.side, state_of(side)) == ("solo", SideStatus.UNKNOWN)
    assert "HIFI_OBSERVE_URL does not name its observe; set HIFI_OBSERVE_URL to its URL" in side.problem
    shown = hifi.run("maintenance", "show")
    assert shown.returncode == 1 and "HIFI_OBSERVE_URL does not name its observe" in shown.stderr
    # Requests that need only the table succeed without observe.
    assert hifi.run("maintenance", "begin", "--reason", "a patch").returncode == 0
    assert hifi.run("maintenance", "end").returncode == 0


def test_both_sides_and_the_last_ten_releases_are_answered_as_the_deployer_wrote_them(
    deployed: ApiProcess, observe: ScriptedObserve
) -> None:
    store, now = ReleaseStore(deployed.table, deployed.endpoint), wall_clock()
    later = now + 600_000  # so that the deployer is not silent before the test has asked
    for name, share in (("blue", 90), ("green", 10)):
        store.put_side(
            SideState(side=name, at_ms=later, version="1.0", parked=False, share=share, stable=True)
        )
    release: Release | None = None
    for number in range(1, 13):
        release = store.put(
            Release(
                number=number, kind=Kind.DEPLOY, version=f"1.{number}", step=Step.DONE, since_ms=now,
                asked_by="ann", asked_ms=now, snapshot=Positions(queries={"ingest": {"collected/0": 1}}),
                log=[Passed(step=Step.CANARY, since_ms=now, until_ms=now, said="10 %")],
                revision=release.revision if release else 0,
            )
        )  # fmt: skip
        assert release is not None
    found = asked(deployed)
    assert found.deployer is DeployerStatus.RUNS
    assert [(each.side, each.share) for each in found.sides] == [("blue", 90), ("green", 10)]
    assert [each.number for each in found.ended] == list(range(12, 2, -1))
    assert found.release is not None and found.release.log[0].said == "10 %"
    assert found.release.snapshot is None and all(each.snapshot is None for each in found.ended)
    said = msgspec.convert(command(deployed, observe).json("sides", "--releases", "10"), Sides)
    assert (said.sides, said.release, said.ended) == (found.sides, found.release, found.ended)


def test_a_deployer_that_has_shown_nothing_for_a_minute_is_called_silent(
    deployed: ApiProcess, observe: ScriptedObserve
) -> None:
    store = ReleaseStore(deployed.table, deployed.endpoint)
    for name in ("blue", "green"):
        store.put_side(SideState(side=name, at_ms=wall_clock() - 61_000, version="1.0"))
    found = asked(deployed)
    assert (found.deployer, [each.side for each in found.sides]) == (DeployerStatus.SILENT, ["blue", "green"])
    done = command(deployed, observe).run("sides")
    assert done.returncode == 0 and "the deployer is silent since" in done.stderr


def test_only_operators_are_answered(own: ApiProcess) -> None:
    for role in ("viewer", "editor", "owner"):
        assert own.ask("GET", "/v1/sides", token=own.token("acme", role)).status == 403
    assert own.ask("GET", "/v1/sides", token=None).status == 401
    described = own.request("GET", "/openapi.json").json["paths"]["/v1/sides"]["get"]
    assert {"200", "401", "403", "503"} <= set(described["responses"])
