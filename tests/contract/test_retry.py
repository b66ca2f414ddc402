"""retry on real brokers: punctual, without loss, with little memory and idle CPU."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from pipelines.data.retry.delay_queue import MAX_RECORDS
from pipelines.data.retry.drain_rate import MIN_RECORDS
from shared.contracts import headers as h
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.runtime.clock import wall_clock
from tests.conftest import delete_up_to
from tests.contract.retry_process import RetryProcess, distinct, key, left_over, members, put, written
from tests.harness.service_process import stop_all
from tests.harness.topics import Topics, outbound_headers
from tests.harness.waiting import eventually

Start = Callable[..., RetryProcess]
MIB = 1024 * 1024
FULL = MAX_RECORDS + 1_000
"""More records than a delay queue takes."""

PATIENT = 120
"""Seconds; a new cluster creates its groups' topic first."""

IN_TIME_MS = 25_000
"""Less than the shortest delay of a topic, which a record must not wait for again."""


@pytest.fixture
def start(topics: str, tmp_path: Path) -> Iterator[Start]:
    """Starts processes for one test and stops them cleanly: no dead member stays in the group."""
    started: list[RetryProcess] = []

    def begin(**settings: str) -> RetryProcess:
        started.append(RetryProcess(topics, tmp_path / f"{len(started)}.log", **settings))
        return started[-1]

    yield begin
    stop_all(started)


def test_records_leave_when_they_are_due_and_the_unreadable_for_quarantine(topics: str, start: Start) -> None:
    side, process = Topics(topics), start()
    eventually(lambda: process.ready() and len(process.holds()) == len(RETRY_DELAYS), PATIENT)
    assert process.request("GET", "/healthz").status == 200
    soon = wall_clock() + 1_500
    put(side, Topic.RETRY_IN_1H, range(3), wall_clock() - 1)
    side.put(Topic.RETRY_IN_5M, b"rubbish", [(h.NOT_BEFORE, b"soon"), ("x", b"\xff")], b"short")
    side.put(Topic.RETRY_IN_5M, None, outbound_headers("p", 0), None)
    put(side, Topic.RETRY_IN_5M, range(3, 6), soon)
    put(side, Topic.RETRY_IN_30S, range(6, 9), soon)
    put_at = wall_clock()
    eventually(lambda: written(topics) == 9 and len(side.all_of(Topic.QUARANTINE)) == 2, PATIENT, every=0.3)

    found = {message.key(): message for message in side.all_of(Topic.RETRY_OUT)}
    assert set(found) == {key(number) for number in range(9)}
    headers = dict(found[key(4)].headers() or [])
    assert (headers[h.ATTEMPT], headers[h.FIRST_TRY], headers[h.PIPE]) == (b"2", b"17", b"p")
    assert not {h.NOT_BEFORE, h.REASON} & set(headers)
    for number in range(3, 9):
        at_ms = found[key(number)].timestamp()[1]
        assert soon <= at_ms <= max(soon, put_at) + IN_TIME_MS

    rubbish, bare = side.all_of(Topic.QUARANTINE)
    said = dict(rubbish.headers() or [])
    assert (rubbish.key(), rubbish.value(), said["x"]) == (b"short", b"rubbish", b"\xff")
    assert str(said[h.ORIGIN]).startswith("b'retry_in.5m/0/")
    assert "hifi_not_before" in str(said[h.REASON])
    assert (bare.key(), bare.value()) == (None, None)

    metrics = process.request("GET", "/metrics").text
    assert 'hifi_retry_released_records_total{topic="retry_in.1h"} 3.0' in metrics
    assert "hifi_retry_quarantined_records_total 2.0" in metrics
    assert process.stop() == 0, process.log.read_text()
    assert left_over(topics) == 0, "offsets of written records are committed"


def test_records_that_expired_while_retry_stood_still_are_named_and_the_rest_goes_on(
    topics: str, start: Start
) -> None:
    side, past = Topics(topics), wall_clock() - 1
    put(side, Topic.RETRY_IN_5M, range(3), past)
    first = start()
    eventually(lambda: written(topics) == 3 and left_over(topics) == 0, PATIENT, every=0.3)
    assert first.stop() == 0, first.log.read_text()
    (kept,) = side.retained(Topic.RETRY_IN_5M).values()
    put(side, Topic.RETRY_IN_5M, range(3, 8), past)
    delete_up_to(topics, [TopicPartition(Topic.RETRY_IN_5M, 0, kept.end + 2)])

    second = start()
    eventually(lambda: written(topics) == 6 and left_over(topics) == 0, PATIENT, every=0.3)
    found = [message.key() for message in side.all_of(Topic.RETRY_OUT)]
    assert found == [key(number) for number in (0, 1, 2, 5, 6, 7)]
    assert second.stop() == 0, second.log.read_text()
    expired = [line for line in second.lines() if "expired before they were read" in line["message"]]
    assert [(line["topic"], line["partition"], line["records"]) for line in expired] == [
        ("retry_in.5m", 0, 2)
    ]


@pytest.mark.proof
def test_a_second_member_takes_over_and_a_killed_one_loses_nothing(topics: str, start: Start) -> None:
    """Three topics release 500 records per second each, while one member joins and another is killed."""
    side, count, past = Topics(topics), 3_000, wall_clock() - 1
    for turn, topic in enumerate(RETRY_DELAYS):
        put(side, topic, range(turn * count, (turn + 1) * count), past)
    first = start()
    eventually(lambda: written(topics) > 1_000)
    second = start()
    eventually(lambda: bool(second.holds()))
    first.kill()
    before = written(topics)
    assert before < 3 * count, "killed in the middle"
    eventually(lambda: left_over(topics) == 0, every=0.3)
    found = [message.key() for message in side.all_of(Topic.RETRY_OUT)]
    assert set(found) == {key(number) for number in range(3 * count)}
    # Twice: records that the killed member wrote in one turn, during a rebalance.
    assert len(found) - 3 * count <= 3 * MIN_RECORDS, first.log.read_text()
    assert second.stop() == 0, second.log.read_text()


@pytest.mark.parametrize("due_seconds", [20, pytest.param(25, marks=pytest.mark.proof)])
def test_a_full_queue_that_a_suspended_member_lost_and_got_back_is_read_again(
    topics: str, start: Start, due_seconds: int
) -> None:
    """A full queue pauses reading; the pause must not outlive the member's ownership of the partition."""
    side, due_ms = Topics(topics), wall_clock() + 1_000 * due_seconds
    put(side, Topic.RETRY_IN_5M, range(FULL), due_ms)
    process = start(spread="0.1")
    eventually(lambda: len(process.holds()) == len(RETRY_DELAYS), PATIENT)
    eventually(lambda: process.usage.cpu_percent(0.5) < 20, every=0)
    process.process.send_signal(signal.SIGSTOP)
    eventually(lambda: members(topics) == 0, PATIENT, "the brokers give its partitions away", every=0.5)
    process.process.send_signal(signal.SIGCONT)
    eventually(lambda: process.log.read_text().count("partitions assigned") > 1, PATIENT, "it lost them")
    eventually(lambda: left_over(topics) == 0, 2 * PATIENT, every=0.5)
    assert distinct(topics, Topic.RETRY_OUT) == FULL


@pytest.mark.proof
def test_waiting_costs_no_cpu_and_no_memory_however_much_waits(topics: str, start: Start) -> None:
    """Three of five WAITING records (100,000 by default) are due: far more than fit in memory."""
    side, count = Topics(topics), int(os.environ.get("WAITING", "100000"))
    due, patience = count * 3 // 5, 60 + count / 5_000
    put(side, Topic.RETRY_IN_30S, range(due), wall_clock() - 1)
    put(side, Topic.RETRY_IN_1H, range(due, count), wall_clock() + 3_600_000)
    began = time.monotonic()
    process, resident = start(spread="0.1"), [0]

    def drained() -> bool:
        resident.append(process.usage.memory_info().rss)
        return written(topics) >= due

    eventually(drained, patience)
    seconds = time.monotonic() - began
    eventually(lambda: process.usage.cpu_percent(0.5) < 20, every=0)
    used = idle_share(process)
    sys.stdout.write(
        f"{count:,} waited, {due:,} of them left within {seconds:.0f} s of the start;"
        f" {max(resident) // MIB} MiB at most; {used:.2%} of a core while the rest waits\n"
    )
    assert used < 0.05
    assert max(resident) < 150 * MIB
    assert distinct(topics, Topic.RETRY_OUT) == due
    assert left_over(topics) == count - due


def idle_share(process: RetryProcess, length: float = 2.0) -> float:
    """A process's share of a core over some seconds."""
    before, began = process.usage.cpu_times(), time.monotonic()
    time.sleep(length)  # the measured interval
    seconds, after = time.monotonic() - began, process.usage.cpu_times()
    return max(0.0, (after.user + after.system - before.user - before.system) / seconds)
