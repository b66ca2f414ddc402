"""The supervised programs: commands, environments, and the order of stopping."""

from dataclasses import replace
from pathlib import Path

import pytest

from scripts.local.addresses import HOST
from scripts.local.jars import Jars
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.program import Program
from scripts.local.processes.programs import (
    API,
    CANARY,
    CANARY_PAUSE_SECONDS,
    COLLECT,
    CONSOLE,
    OBSERVE,
    PROVISION,
    STORE,
    TRACE,
    programs,
)
from scripts.local.processes.spark_programs import (
    EXECUTORS,
    MASTER,
    SPARK,
    STANDBY,
    TWINS_TRIGGER,
    WORKERS,
)
from scripts.local.services import READY_SECONDS
from scripts.local.side import Shared, Side
from scripts.local.warmup.warmup import WARM_UP_SECONDS, gentle
from shared.contracts.document_items import DOCUMENTS_TABLE

_SIDE = Side(root=Path("/data"), port=9000)


def _programs(profile: SideProfile = SideProfile.ALL) -> dict[str, Program]:
    return {program.name: program for program in programs(_SIDE, Jars(Path("/jars")), profile)}


def test_a_canary_sends_nothing_before_its_side_is_warm() -> None:
    """Its events would look like customers', for which the warm-up holds its load back."""
    limits = gentle(WARM_UP_SECONDS)
    warm_up = limits.first_seconds + limits.seconds + limits.first_seconds
    assert READY_SECONDS + warm_up < CANARY_PAUSE_SECONDS


def test_each_program_stops_before_those_it_needs() -> None:
    order = {name: program.order for name, program in _programs().items()}
    assert order[CANARY] > order[COLLECT] > order[SPARK] > order["broker-1"]
    assert order[OBSERVE] > order[STORE] > order["broker-1"]
    assert order[PROVISION] > order[STORE]


def test_the_meter_adds_nothing_to_the_time_of_a_stop_but_the_canarys() -> None:
    found = _programs()
    assert found[CONSOLE].group == found[COLLECT].group
    assert found[STORE].group == found[SPARK].group
    assert all(found[name].stop_seconds <= found[COLLECT].stop_seconds for name in (CONSOLE, OBSERVE, STORE))


def test_no_two_programs_listen_on_one_port() -> None:
    ports = [found for one in _programs().values() if (found := one.environment.get("HIFI_PORT"))]
    assert len(set(ports)) == len(ports)
    assert {int(port) for port in ports} < set(_SIDE.ports)


def test_a_standby_runs_what_the_first_driver_runs_on_the_same_checkpoints_and_speaks_for_itself() -> None:
    side = replace(_SIDE, standby=True)
    found = {each.name: each for each in programs(side, Jars(Path("/jars")), SideProfile.ALL)}
    first, second = found[SPARK], found[STANDBY]
    assert STANDBY not in _programs()
    assert first.command == second.command
    differ = {name for name, value in first.environment.items() if second.environment[name] != value}
    assert differ == {"HIFI_METRICS_PORT", "HIFI_READY_FILE", "HIFI_PROGRAM"}
    assert first.environment["HIFI_CHECKPOINTS"] == str(side.checkpoints)


def test_transmit_of_twins_leaves_the_cores_to_both_sides_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twin = replace(_SIDE, shared=Shared(folder=Path("/twins"), store_url="http://store"))

    def trigger() -> str | None:
        found = {each.name: each for each in programs(twin, Jars(Path("/jars")), SideProfile.ALL)}
        return found[SPARK].environment.get("HIFI_FAST_TRIGGER")

    assert trigger() == TWINS_TRIGGER
    assert "HIFI_FAST_TRIGGER" not in _programs()[SPARK].environment
    monkeypatch.setenv("HIFI_FAST_TRIGGER", "1 second")
    assert trigger() == "1 second"


def test_a_side_with_workers_runs_its_queries_on_the_master_that_they_register_with() -> None:
    side = replace(_SIDE, workers=2)
    found = {each.name: each for each in programs(side, Jars(Path("/jars")), SideProfile.ALL)}
    assert not {MASTER, EXECUTORS, *WORKERS} & _programs().keys()
    url = found[SPARK].environment["HIFI_MASTER"]
    assert url == f"spark://{HOST}:{side.master_port}"
    assert all(found[worker].command[-1] == url for worker in WORKERS)
    assert str(side.master_port) in found[MASTER].command
    assert found[SPARK].order > found[MASTER].order > found["broker-1"].order, "executors end with drivers"


def test_each_worker_has_slots_for_all_queries_so_that_the_others_can_be_lost() -> None:
    side = replace(_SIDE, workers=2, partitions=4)
    found = {each.name: each.command for each in programs(side, Jars(Path("/jars")), SideProfile.ALL)}
    cores = {int(found[name][found[name].index("--cores") + 1]) for name in WORKERS}
    assert cores == {3 * side.partitions + 2}


def test_trace_runs_if_there_is_a_receiver_of_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIFI_OTLP_ENDPOINT", raising=False)
    assert TRACE not in _programs()
    monkeypatch.setenv("HIFI_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    assert _programs()[TRACE].environment["HIFI_PORT"] == str(_SIDE.trace_port)


def test_the_store_listens_on_the_loopback_address_and_keeps_its_data_with_the_side() -> None:
    assert _programs()[STORE].command[-3:] == [HOST, str(_SIDE.store_port), "/data/store"]


def test_the_provisioner_reads_the_sides_own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIFI_DOCUMENTS_TABLE", "of-a-twin")
    for profile in (SideProfile.ALL, SideProfile.CHAIN):
        environment = _programs(profile)[PROVISION].environment
        assert environment["HIFI_DOCUMENTS_ENDPOINT"] == _SIDE.store_url
        assert environment["HIFI_DOCUMENTS_TABLE"] == DOCUMENTS_TABLE


def test_the_management_api_has_the_provisioners_table_and_a_token_file_of_the_side() -> None:
    found = _programs()
    api, provision = found[API].environment, found[PROVISION].environment
    for name in ("HIFI_DOCUMENTS_ENDPOINT", "HIFI_DOCUMENTS_TABLE"):
        assert api[name] == provision[name]
    assert api["HIFI_TOKEN_FILE"] == str(_SIDE.token_file)
    assert found[API].order > found[STORE].order


def test_the_users_own_aws_keys_reach_observe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    assert _programs()[OBSERVE].environment["AWS_ACCESS_KEY_ID"] == "local"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "the-users")
    assert "AWS_ACCESS_KEY_ID" not in _programs()[OBSERVE].environment
