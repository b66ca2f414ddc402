"""Checks of `hifi doctor` on a running side, hop by hop."""

import urllib.request
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from confluent_kafka import KafkaException

from scripts.local.addresses import HOST
from scripts.local.doctor.checks import Check
from scripts.local.doctor.query_progress import query_progress
from scripts.local.drained_workers import drained_workers
from scripts.local.executor.count import executor_count
from scripts.local.ports import busy_ports
from scripts.local.processes.programs import (
    API,
    AUDIT,
    BROKERS,
    CANARY,
    COLLECT,
    CONSOLE,
    OBSERVE,
    PROVISION,
    RETRY,
    STORE,
    TRACE,
)
from scripts.local.processes.spark_programs import EXECUTORS, SPARK
from scripts.local.processes.supervisor import StoppingError, Supervisor, SupervisorError
from scripts.local.services import driver_at_work, says_ready
from scripts.local.side import Side
from scripts.local.workers import running_workers
from shared.contracts.scorecard import Now
from shared.contracts.topics import REPLICAS, Topic
from shared.kafka.admin import admin_client, out_of_sync, topic_partitions
from shared.kafka.consumer_lag import Lag, lags

_LAG_RECORDS: Final = 10_000
_ANSWER_SECONDS: Final = 5.0
_RUNNING: Final = "RUNNING"


def health(side: Side) -> Iterator[Check]:
    """Check processes, brokers, topics, services, Spark and lag; a part that does not answer fails."""
    try:
        yield from _supervised(side, Supervisor(side))
    except StoppingError:
        fix = f"wait, then hifi up --data {side.root}"
        yield Check(name="supervisor", found="the side is being stopped", fix=fix)
    except SupervisorError:
        fix = f"hifi down --data {side.root}; hifi up --data {side.root}"
        yield Check(name="supervisor", found="does not answer", fix=fix)


def _supervised(side: Side, supervisor: Supervisor) -> Iterator[Check]:
    states = supervisor.states()
    started = [name for name, state in states.items() if name in BROKERS or state != "STOPPED"]
    yield from (process_check(side, name, states[name]) for name in started)
    yield from _kafka(side)
    for name, port in _services(side).items():
        if name in started:
            yield readyz_check(f"http://{HOST}:{port}", ready=says_ready(port))
    if STORE in started:
        yield store_check(side, answers=bool(busy_ports([side.store_port])))
    if OBSERVE in started:
        yield meter_check(side, _now(side))
    if SPARK in started:
        yield from _spark(side, supervisor)


def _spark(side: Side, supervisor: Supervisor) -> Iterator[Check]:
    driver, found = driver_at_work(side, supervisor), _lags(side)
    yield spark_check(side, ready=driver is not None)
    if driver is not None:
        yield query_progress(side, driver, supervisor.pid(driver), found)
    if side.workers:
        drained, running = drained_workers(side, supervisor), running_workers(supervisor)
        yield executors_check(side, len(running), executor_count(side.spark_url), drained)
    yield from (lag_check(side, lag) for lag in found)


def _services(side: Side) -> dict[str, int]:
    """Services with /readyz, and their ports."""
    return {
        COLLECT: side.collect_port,
        RETRY: side.retry_port,
        PROVISION: side.provision_port,
        API: side.api_port,
        OBSERVE: side.observe_port,
        CONSOLE: side.console_port,
        CANARY: side.canary_port,
        TRACE: side.trace_port,
    }


def _now(side: Side) -> Now | None:
    try:
        with urllib.request.urlopen(f"{side.observe_url}/v1/now", timeout=_ANSWER_SECONDS) as answer:  # noqa: S310 - our own
            return msgspec.json.decode(answer.read(), type=Now)
    except (OSError, msgspec.MsgspecError):
        return None


def process_check(side: Side, name: str, state: str) -> Check:
    """Check that a program runs. The supervisor restarts one that ends; its log says why it ended."""
    fix = None if state == _RUNNING else f"tail {side.logs / name}.log"
    return Check(name=name, found=state.lower(), fix=fix)


def executors_check(side: Side, workers: int, count: int | None, drained: Sequence[str] = ()) -> Check:
    """Check that an executor of each Spark worker takes tasks; those in `drained` take none any more."""
    if drained:
        found = f"{', '.join(drained)} takes no tasks: a `hifi scale` drains it, or was killed before its end"
        return Check(name="executors", found=found, fix=f"hifi scale --workers {workers} --data {side.root}")
    if count is None:
        return Check(name="executors", found="not known", fix=f"tail {side.logs / SPARK}.log")
    fix = None if count >= workers else f"wait: a new one rehearses first; tail {side.logs / EXECUTORS}.log"
    return Check(name="executors", found=f"on {count} of {workers} workers", fix=fix)


def brokers_check(side: Side, count: int) -> Check:
    """Check that all brokers are registered."""
    fix = None if count == REPLICAS else f"tail {side.logs}/broker-*.log"
    return Check(name="brokers", found=f"{count} of {REPLICAS} registered", fix=fix)


def replicas_check(side: Side, behind: Sequence[str]) -> Check:
    """Check that all replicas are in sync; `behind` are the partitions with others."""
    if not behind:
        return Check(name="replicas", found="all in sync")
    named = ", ".join(behind[:3]) + (f" and {len(behind) - 3} more" if len(behind) > 3 else "")
    return Check(
        name="replicas",
        found=f"not in sync: {named}",
        fix=f"wait a minute, then tail {side.logs}/broker-*.log",
    )


def topics_check(side: Side, missing: Sequence[str]) -> Check:
    """Check that every topic exists."""
    if not missing:
        return Check(name="topics", found=f"all {len(Topic)} exist")
    return Check(
        name="topics",
        found=f"missing: {', '.join(missing)}",
        fix=f"hifi down --data {side.root}; hifi up --data {side.root}",
    )


def readyz_check(base_url: str, *, ready: bool) -> Check:
    """Check that a service's /readyz answers 200."""
    url = f"{base_url}/readyz"
    return Check(
        name="readyz",
        found=f"{url} {'200' if ready else 'not 200'}",
        fix=None if ready else f"curl -i {url}",
    )


def store_check(side: Side, *, answers: bool) -> Check:
    """Check that the store of documents and scorecards listens."""
    found = f"{side.store_url} {'answers' if answers else 'does not answer'}"
    return Check(name=STORE, found=found, fix=None if answers else f"tail {side.logs / STORE}.log")


def meter_check(side: Side, now: Now | None) -> Check:
    """Check that scorecards are up to date: audit and observe have read the topics to their ends."""
    if now is None:
        return Check(name="meter", found="does not answer", fix=f"tail {side.logs / OBSERVE}.log")
    if not now.behind:
        return Check(name="meter", found="up to date")
    fix = f"wait; tail {side.logs / SPARK}.log {side.logs / OBSERVE}.log"
    return Check(name="meter", found=f"{now.behind_seconds:,.0f} s behind the topics", fix=fix)


def spark_check(side: Side, *, ready: bool) -> Check:
    """Check that the running driver reported that its queries process data."""
    found = "all queries process data" if ready else "not ready"
    return Check(name="queries", found=found, fix=None if ready else f"tail {side.logs / SPARK}.log")


def lag_check(side: Side, lag: Lag) -> Check:
    """Check that a node is not far behind."""
    name = f"lag {lag.node}"
    if lag.records is None:
        return Check(name=name, found="not known yet")
    if lag.node == RETRY:  # waiting is its purpose; its metrics show for how long
        return Check(name=name, found=f"{lag.records:,} records wait until they are due")
    if lag.node == AUDIT:  # it reads in batches; the meter's check shows whether it keeps up
        return Check(name=name, found=f"{lag.records:,} records behind")
    fix = f"wait, or send less; tail {side.logs / SPARK}.log" if lag.records > _LAG_RECORDS else None
    return Check(name=name, found=f"{lag.records:,} records behind", fix=fix)


def _kafka(side: Side) -> Iterator[Check]:
    admin = admin_client(side.bootstrap)
    try:
        found = topic_partitions(admin)
        yield brokers_check(side, len(admin.list_topics(timeout=5.0).brokers))
        yield topics_check(side, [topic for topic in Topic if topic not in found])
        yield replicas_check(side, out_of_sync(admin))
    except KafkaException as error:
        yield Check(name="brokers", found=error.args[0].str(), fix=f"tail {side.logs}/broker-*.log")


def _lags(side: Side) -> Sequence[Lag]:
    try:
        return lags(admin_client(side.bootstrap))
    except KafkaException:
        return ()  # reported by the check of the brokers
