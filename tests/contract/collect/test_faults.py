"""Kills under load: every acknowledged event is in `collected`."""

import http.client
import signal
import socket
import threading

import pytest

from scripts.local.kafka.cluster import Cluster
from tests.contract.collect.collected import Collected
from tests.contract.collect.conftest import Start
from tests.contract.collect.load import Load
from tests.contract.collect.process import BATCH, EVENT, KEY, CollectProcess, encoded, event
from tests.harness.broker_faults import wait_healthy
from tests.harness.service_process import HOST
from tests.harness.waiting import eventually

pytestmark = pytest.mark.fault


@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.proof)])
def test_a_kill_in_mid_request_loses_no_acknowledged_event(
    start: Start, collected: Collected, kills: int
) -> None:
    process = start()
    with Load(process.port) as load:
        for _ in range(kills):
            known = len(load.acknowledged)
            eventually(lambda known=known: len(load.acknowledged) > known + 500, 120)  # type: ignore[misc]
            process.kill()
            process.restart()
        process.wait_ready()
    assert len(load.acknowledged) > 500 * kills
    assert load.acknowledged <= collected.ids()


def test_a_stop_finishes_what_is_in_flight_and_exits_0(start: Start, collected: Collected) -> None:
    process = start()
    with Load(process.port) as load:
        eventually(lambda: len(load.acknowledged) > 500)
        assert process.stop() == 0
    assert set(load.statuses) == {202}
    assert load.acknowledged <= collected.ids()


def test_a_stop_waits_for_a_body_that_is_coming_in(start: Start) -> None:
    process = start()
    body = encoded(event())
    connection = begin_request(process, body)
    process.process.send_signal(signal.SIGTERM)
    eventually(lambda: not _listens(process))
    connection.send(body[10:])
    assert connection.getresponse().status == 202
    assert process.process.wait(120) == 0


def test_a_stop_has_a_time_limit(start: Start) -> None:
    process = start(drain_timeout="1")
    connection = begin_request(process, encoded(event()))
    process.process.send_signal(signal.SIGTERM)
    assert connection.getresponse().status == 503
    assert process.process.wait(120) == 0


def begin_request(process: CollectProcess, body: bytes) -> http.client.HTTPConnection:
    """A request under way, the body's first ten bytes sent."""
    connection = http.client.HTTPConnection(HOST, process.port, timeout=90)
    connection.putrequest("POST", "/v1/events")
    connection.putheader("authorization", f"Bearer {KEY}")
    connection.putheader("content-type", EVENT)
    connection.putheader("content-length", str(len(body)))
    connection.endheaders(body[:10])
    eventually(lambda: process.metric("hifi_collect_in_flight_requests") == 1)
    return connection


def test_a_client_that_disconnects_harms_no_other(collect: CollectProcess) -> None:
    abandoned = collect.metric("hifi_collect_abandoned_requests_total")
    head = f"POST /v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\ncontent-type: {BATCH}\r\n"
    body = encoded(event(), event(id="e2"))
    whole = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
    for length in (len(whole) - 1, len(whole)) * 20:
        with socket.create_connection((HOST, collect.port)) as connection:
            connection.sendall(whole[:length])
    eventually(lambda: collect.metric("hifi_collect_abandoned_requests_total") >= abandoned + 20)
    eventually(lambda: collect.metric("hifi_collect_in_flight_requests") == 0)
    assert collect.post(body, BATCH).status == 202


@pytest.mark.proof
def test_with_one_of_three_brokers_gone_it_goes_on(
    start: Start, collected: Collected, brokers: Cluster
) -> None:
    process = start()
    with Load(process.port) as load:
        eventually(lambda: len(load.acknowledged) > 500)
        brokers.kill(3)
        try:
            acknowledged = len(load.acknowledged)
            eventually(lambda: len(load.acknowledged) > acknowledged + 2000, seconds=60)
        finally:
            brokers.start(3)
            wait_healthy(brokers)
    assert load.acknowledged <= collected.ids()


@pytest.mark.proof
def test_with_two_of_three_brokers_gone_it_says_503_until_they_return(
    start: Start, collected: Collected, brokers: Cluster
) -> None:
    process = start(ack_timeout="3")
    with Load(process.port) as load:
        eventually(lambda: len(load.acknowledged) > 500)
        brokers.kill(2)
        brokers.kill(3)
        try:
            eventually(lambda: load.statuses[503] > 20, seconds=40)
            acknowledged = len(load.acknowledged)
            assert process.request("GET", "/readyz").status == 503
            eventually(lambda: load.statuses[503] > 40, seconds=40)
            assert len(load.acknowledged) == acknowledged
        finally:
            brokers.start(2)
            brokers.start(3)
            wait_healthy(brokers)
        eventually(lambda: len(load.acknowledged) > acknowledged + 500, seconds=60)
        assert process.ready()
    assert set(load.statuses) == {202, 503}
    assert load.acknowledged <= collected.ids()


@pytest.mark.proof
def test_no_request_outlives_the_ack_timeout_by_much(start: Start, brokers: Cluster) -> None:
    process = start(ack_timeout="2")
    brokers.kill(1)
    brokers.kill(2)
    try:
        done = threading.Event()

        def post() -> None:
            assert process.post(encoded(event())).status == 503
            done.set()

        threading.Thread(target=post, daemon=True).start()
        assert done.wait(6)
    finally:
        brokers.start(1)
        brokers.start(2)
        wait_healthy(brokers)
    eventually(lambda: process.post(encoded(event())).status == 202, seconds=60)


def _listens(process: CollectProcess) -> bool:
    try:
        with socket.create_connection((HOST, process.port), timeout=1):
            return True
    except OSError:
        return False
