"""Programs of the edge and of a side among twins; the programs that a parked side keeps."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.local.jars import Jars
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.program import Program
from scripts.local.processes.programs import API, COLLECT, OBSERVE, PROVISION, STORE, programs
from scripts.local.processes.spark_programs import SPARK
from scripts.local.twins import programs as edge
from scripts.local.twins.parking import KEPT, stop_code
from scripts.local.twins.place import Twins

_TWINS = Twins(root=Path("/data"), port=9000)


def _programs(name: str) -> dict[str, Program]:
    side = _TWINS.side(name)
    return {program.name: program for program in programs(side, Jars(Path("/jars")), SideProfile.ALL)}


def test_sides_have_one_table_of_documents_and_a_table_of_scorecards_each() -> None:
    blue, green = _programs("blue"), _programs("green")
    assert STORE not in blue
    for name in (API, PROVISION, OBSERVE):
        found = [each[name].environment["HIFI_DOCUMENTS_ENDPOINT"] for each in (blue, green)]
        assert found == [_TWINS.edge.store_url] * 2
    tables = [each[OBSERVE].environment["HIFI_STORE_TABLE"] for each in (blue, green)]
    assert tables == ["hifi-meter-blue", "hifi-meter-green"]
    assert [each[COLLECT].environment["HIFI_SIDE"] for each in (blue, green)] == ["blue", "green"]


def test_minutes_of_twins_settle_soon_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HIFI_SETTLE_SECONDS", raising=False)
    assert _programs("blue")[OBSERVE].environment["HIFI_SETTLE_SECONDS"] == "30"
    monkeypatch.setenv("HIFI_SETTLE_SECONDS", "200")
    assert _programs("blue")[OBSERVE].environment["HIFI_SETTLE_SECONDS"] == "200"


def test_the_edge_listens_where_no_side_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "haproxy", lambda: "/usr/sbin/haproxy")
    store, haproxy, deploy = edge.edge_programs(_TWINS, Path("/jars"), 15.0)
    assert store.command[-2:] == [str(_TWINS.edge.store_port), "/data/edge/store"]
    assert haproxy.command[-1] == "/data/edge/haproxy.cfg"
    assert deploy.environment["HIFI_PORT"] == str(_TWINS.edge.deploy_port)
    assert deploy.order > haproxy.order > store.order


def test_twins_without_haproxy_name_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "haproxy", lambda: None)
    with pytest.raises(edge.NoHaproxyError, match=re.escape("apt-get install haproxy")):
        edge.haproxy_command(_TWINS.edge)


def test_a_side_is_parked_from_its_front_to_its_end_and_keeps_brokers_and_documents() -> None:
    class Stopping:
        def __init__(self) -> None:
            self.stopped: list[str] = []

        def stop_programs(self, names: Sequence[str]) -> None:
            self.stopped += names

    supervisor, found = Stopping(), _programs("green")
    stop_code(supervisor, list(found.values()))  # type: ignore[arg-type]  # what is used of a supervisor
    assert set(supervisor.stopped) == found.keys() - KEPT
    assert supervisor.stopped.index(COLLECT) < supervisor.stopped.index(SPARK)
    assert supervisor.stopped[-1] == OBSERVE, "it says whether the rest may be parked"
