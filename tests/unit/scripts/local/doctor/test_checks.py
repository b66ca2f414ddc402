"""`hifi doctor`: every failed check names the command that fixes it."""

import shutil
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from scripts.cli.commands.doctor import diagnosis
from scripts.local.doctor import checks, health
from scripts.local.doctor.checks import TO_GO_ON, TO_START, Check
from scripts.local.lock import held
from scripts.local.side import Side
from shared.contracts.scorecard import Now, Percentiles
from shared.kafka.consumer_lag import Lag

_SIDE = Side(root=Path("/data"), port=9000)


def _now(*, behind: bool) -> Now:
    nothing = Percentiles(p50=None, p95=None, p99=None)
    return Now(
        tenant="*",
        at_ms=0,
        rate=0.0,
        end_to_end=nothing,
        inside=nothing,
        loss_percent=0.0,
        nines=None,
        behind_seconds=61.5 if behind else 0.5,
        behind=behind,
        open_alarms=0,
    )


@pytest.mark.parametrize(
    ("output", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ("no such thing", None),
    ],
)
def test_javas_version_is_read_in_all_its_spellings(output: str, major: int | None) -> None:
    assert checks.java_major(output) == major


@pytest.mark.parametrize(
    ("check", "fix"),
    [
        (checks.python_check((3, 10, 4)), "apt-get install python3"),
        (checks.java_check(None), "apt-get install openjdk-17-jdk-headless"),
        (checks.java_check(11), "apt-get install openjdk-17-jdk-headless"),
        (checks.maven_check(None, jars_there=False), "apt-get install maven"),
        (checks.jars_check(Path("/jars"), complete=False), "make setup"),
        (checks.disk_check(Path("/data"), 4.5, TO_START), "--data"),
        (checks.disk_check(Path("/data"), 0.5, TO_GO_ON), "a broker without room"),
        (checks.memory_check(3.5, TO_START), "4 GiB"),
        (checks.memory_check(0.25, TO_GO_ON), "the kernel may end processes"),
        (checks.haproxy_check(None, needed=True), "apt-get install haproxy"),
        (health.process_check(_SIDE, "spark", "BACKOFF"), "tail /data/logs/spark.log"),
        (health.brokers_check(_SIDE, 2), "tail /data/logs/broker-*.log"),
        (health.replicas_check(_SIDE, ["events/0"]), "tail /data/logs/broker-*.log"),
        (health.topics_check(_SIDE, ["events"]), "hifi up --data /data"),
        (health.readyz_check(_SIDE.collect_url, ready=False), "curl -i http://127.0.0.1:9000/readyz"),
        (health.store_check(_SIDE, answers=False), "tail /data/logs/store.log"),
        (health.meter_check(_SIDE, None), "tail /data/logs/observe.log"),
        (health.meter_check(_SIDE, _now(behind=True)), "tail /data/logs/spark.log /data/logs/observe.log"),
        (health.spark_check(_SIDE, ready=False), "tail /data/logs/spark.log"),
        (health.executors_check(_SIDE, 2, 1), "a new one rehearses first"),
        (health.executors_check(_SIDE, 2, 1, ["spark_worker-2"]), "hifi scale --workers 2 --data /data"),
        (health.lag_check(_SIDE, Lag(node="route", records=1_000_000)), "tail /data/logs/spark.log"),
    ],
    ids=lambda value: value.name if isinstance(value, Check) else "",
)
def test_a_failed_check_names_its_fix(check: Check, fix: str) -> None:
    assert not check.ok
    assert fix in (check.fix or "")


@pytest.mark.parametrize(
    "check",
    [
        checks.python_check((3, 11, 0)),
        checks.java_check(17),
        checks.java_check(21),
        checks.maven_check(None, jars_there=True),
        checks.jars_check(Path("/jars"), complete=True),
        checks.disk_check(Path("/data"), 50, TO_START),
        checks.memory_check(8, TO_START),
        health.process_check(_SIDE, "spark", "RUNNING"),
        health.brokers_check(_SIDE, 3),
        health.replicas_check(_SIDE, []),
        health.topics_check(_SIDE, []),
        health.readyz_check(_SIDE.collect_url, ready=True),
        health.store_check(_SIDE, answers=True),
        health.meter_check(_SIDE, _now(behind=False)),
        health.spark_check(_SIDE, ready=True),
        health.executors_check(_SIDE, 2, 2),
        health.lag_check(_SIDE, Lag(node="route", records=10)),
        health.lag_check(_SIDE, Lag(node="route", records=None)),
        health.lag_check(_SIDE, Lag(node="retry", records=1_000_000)),
    ],
    ids=lambda check: str(check.name),
)
def test_a_good_check_asks_for_nothing(check: Check) -> None:
    assert check.ok


def test_many_partitions_out_of_sync_are_cut_short() -> None:
    check = health.replicas_check(_SIDE, [f"events/{n}" for n in range(9)])
    assert check.found.endswith("events/2 and 6 more")


def test_haproxy_may_be_missing_where_there_are_no_twins() -> None:
    missing = checks.haproxy_check(None, needed=False)
    assert missing.ok
    assert "hifi up --twins" in missing.found


def test_a_running_side_is_not_refused_for_the_memory_and_disk_that_it_has_taken_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_gib = 2 * 1024**3
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=two_gib))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=two_gib))
    assert _failed(tmp_path) == {"disk", "memory"}
    with held(tmp_path):
        assert not _failed(tmp_path)


def _failed(root: Path) -> set[str]:
    machine = {check.name: check.ok for check in islice(diagnosis(root), 6)}
    return {name for name in ("disk", "memory") if not machine[name]}
