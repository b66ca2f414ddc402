"""What a running side says of itself, hop by hop."""

from collections.abc import Iterator, Sequence
from typing import Final

from confluent_kafka import KafkaException

from scripts.local.checks import Check
from scripts.local.hops import Lag, lags
from scripts.local.programs import BROKERS, COLLECT, RETRY, SPARK
from scripts.local.side import Side
from scripts.local.supervisor import Supervisor, SupervisorError
from scripts.local.up import says_ready, spark_ready
from shared.contracts.topics import REPLICAS, Topic
from shared.kafka.admin import admin_client, out_of_sync, topic_partitions

_LAG_RECORDS: Final = 10_000
_RUNNING: Final = "RUNNING"


def health(side: Side) -> Iterator[Check]:
    """Processes, brokers, topics, collect, retry, Spark, lag. What cannot be asked is a failed check."""
    supervisor = Supervisor(side)
    states = _states(supervisor)
    if states is None:
        mend = f"hifi down --data {side.root}; hifi up --data {side.root}"
        yield Check(name="supervisor", found="does not answer", mend=mend)
        return
    started = [name for name, state in states.items() if name in BROKERS or state != "STOPPED"]
    yield from (process_check(side, name, states[name]) for name in started)
    yield from _kafka(side)
    if COLLECT in started:
        yield readyz_check(side.collect_url, ready=says_ready(side.collect_port))
    if RETRY in started:
        yield readyz_check(side.retry_url, ready=says_ready(side.retry_port))
    if SPARK in started:
        yield spark_check(side, ready=spark_ready(side, supervisor))
        yield from _lags(side)


def process_check(side: Side, name: str, state: str) -> Check:
    """A program runs; the supervisor starts one that ended again, so its log tells why it does not stay."""
    mend = None if state == _RUNNING else f"tail {side.logs / name}.log"
    return Check(name=name, found=state.lower(), mend=mend)


def brokers_check(side: Side, count: int) -> Check:
    """All brokers are registered."""
    mend = None if count == REPLICAS else f"tail {side.logs}/broker-*.log"
    return Check(name="brokers", found=f"{count} of {REPLICAS} registered", mend=mend)


def replicas_check(side: Side, behind: Sequence[str]) -> Check:
    """Every partition has its replicas in sync. `behind` are those that have not."""
    if not behind:
        return Check(name="replicas", found="all in sync")
    named = ", ".join(behind[:3]) + (f" and {len(behind) - 3} more" if len(behind) > 3 else "")
    return Check(
        name="replicas",
        found=f"not in sync: {named}",
        mend=f"wait a minute, then tail {side.logs}/broker-*.log",
    )


def topics_check(side: Side, missing: Sequence[str]) -> Check:
    """Every topic is there."""
    if not missing:
        return Check(name="topics", found=f"all {len(Topic)} there")
    return Check(
        name="topics",
        found=f"missing: {', '.join(missing)}",
        mend=f"hifi down --data {side.root}; hifi up --data {side.root}",
    )


def readyz_check(base_url: str, *, ready: bool) -> Check:
    """A service's /readyz answers 200."""
    url = f"{base_url}/readyz"
    return Check(
        name="readyz",
        found=f"{url} {'200' if ready else 'not 200'}",
        mend=None if ready else f"curl -i {url}",
    )


def spark_check(side: Side, *, ready: bool) -> Check:
    """The driver said that its queries process data, and is the one that runs."""
    found = "all queries process data" if ready else "not ready"
    return Check(name="queries", found=found, mend=None if ready else f"tail {side.logs / SPARK}.log")


def lag_check(side: Side, lag: Lag) -> Check:
    """A node is not far behind."""
    name = f"lag {lag.node}"
    if lag.records is None:
        return Check(name=name, found="not known yet")
    if lag.node == RETRY:  # to wait is its work; how long is the business of its metrics
        return Check(name=name, found=f"{lag.records:,} records wait for their time")
    mend = f"wait, or send less; tail {side.logs / SPARK}.log" if lag.records > _LAG_RECORDS else None
    return Check(name=name, found=f"{lag.records:,} records behind", mend=mend)


def _states(supervisor: Supervisor) -> dict[str, str] | None:
    try:
        return supervisor.states()
    except SupervisorError:
        return None


def _kafka(side: Side) -> Iterator[Check]:
    admin = admin_client(side.bootstrap)
    try:
        found = topic_partitions(admin)
        yield brokers_check(side, len(admin.list_topics(timeout=5.0).brokers))
        yield topics_check(side, [topic for topic in Topic if topic not in found])
        yield replicas_check(side, out_of_sync(admin))
    except KafkaException as error:
        yield Check(name="brokers", found=error.args[0].str(), mend=f"tail {side.logs}/broker-*.log")


def _lags(side: Side) -> Iterator[Check]:
    try:
        yield from (lag_check(side, lag) for lag in lags(admin_client(side.bootstrap)))
    except KafkaException:
        return  # said above already
