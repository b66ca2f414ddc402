"""Four bad destinations cost sixteen good ones no time, and leave nothing behind, on real sockets."""

import asyncio
import json
import socket
import statistics
import threading
from collections import Counter
from collections.abc import Iterator

import psutil
import pytest

from pipelines.data.transmit.delivery.kafka_rows import Row
from pipelines.data.transmit.delivery.timeout import WaitLimits
from shared.contracts import headers as h
from shared.contracts.documents import Limits
from tests.contract.lanes import PATIENCE, asked, late
from tests.contract.transmit_rig import AMPLE, BREAKER_SECONDS, Rig, receipts, records
from tests.harness.scripted_server import reply
from tests.harness.waiting import eventually
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

BAD = ("hangs", "late", "resets", "unavailable")
GOOD = tuple(f"good-{n}" for n in range(16))


def twenty(rig: Rig) -> None:
    """Sixteen destinations that answer after 0.1 s, and four bad ones."""

    async def reset(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    late(rig, "/hangs", 60.0)
    late(rig, "/late", 30.0)
    late(rig, "/", 0.1)
    rig.server.manners["/resets"] = reset
    rig.server.answer("/unavailable", reply(503))
    for name in BAD:
        rig.pipe(name, f"/{name}", max_events=2)
    for name in GOOD:
        rig.pipe(name, "/", max_events=2)


@pytest.mark.proof
def test_micro_batches_with_four_bad_destinations_take_no_longer_than_those_without(patient: Rig) -> None:
    twenty(patient)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    number = 0
    for turn in range(80):  # alternately, so that other load on the machine affects both alike
        bad = turn % 2 == 1
        pipes = (*GOOD, *BAD) if bad else GOOD
        rows = patient.deliver(flat_batch([row(number + n, pipe=p) for n, p in enumerate(pipes * 2)]))
        number += 2 * len(pipes)
        assert sum(len(r.ids) for r in receipts(rows) if r.destination in GOOD) == 2 * len(GOOD)
        seconds[bad].append(patient.seconds)
    learning = seconds[True][0]
    assert learning < 2 * PATIENCE, "one wait for all slow destinations together, not one for each"
    without, beside = (sorted(seconds[bad])[:-1] for bad in (False, True))  # each without its longest time
    assert statistics.median(beside) <= 1.2 * statistics.median(without) + 0.02
    assert sum(x > PATIENCE for x in beside) <= sum(x > PATIENCE for x in without) + 1, (
        "good destinations wait for the bad ones"
    )


def test_a_tenant_whose_destinations_hang_leaves_connections_to_the_others() -> None:
    rig = Rig(lane="slow", requests=16)
    try:
        late(rig, "/hangs", 60.0)
        rig.server.answer("/", reply(200))
        for name in BAD:
            rig.pipe(name, "/hangs", tenant="bad", limits=Limits(requests=64), max_events=1)
        for name in GOOD:
            rig.pipe(name, "/", tenant="good")
        bad = [row(n, pipe=BAD[n % 4], tenant="bad") for n in range(64)]
        good = [row(100 + n, pipe=name, tenant="good") for n, name in enumerate(GOOD)]
        rows = rig.deliver(flat_batch([*bad, *good]), deadline=4.0)
        assert asked(rig)["/hangs"] == 8, "half of all"
        assert {(r.result, r.breaker) for r in receipts(rows) if r.destination in GOOD} == {
            ("delivered", "closed")
        }
        attempts = Counter(dict(each.headers)[h.ATTEMPT] for each in records(rows))
        assert attempts == {b"1": 8, b"0": 56}, "those that had no turn have made none"
    finally:
        rig.close()


IDLE = 40
HOSTS = [f"127.0.1.{n}" for n in range(1, 201)]
"""Each is a separate destination; all are this machine."""


@pytest.fixture
def many() -> Iterator[Rig]:
    """A worker with IDLE idle connections, a pipe to each of HOSTS, and `late` to the first."""
    rig = Rig(idle=IDLE)
    sock = socket.create_server(("0.0.0.0", 0))
    port = rig.listen(rig.server.serve, sock=sock)
    rig.server.answer("/", reply(200))
    for host in HOSTS:
        rig.pipe(host, "", options={"url": f"http://{host}:{port}/"})
    rig.pipe("late", "", options={"url": f"http://{HOSTS[0]}:{port}/late"})
    yield rig
    rig.close()


def test_many_destinations_leave_a_bounded_number_of_idle_connections(many: Rig) -> None:
    for first in range(0, len(HOSTS), 20):
        rows = many.deliver(flat_batch([row(n, pipe=HOSTS[n]) for n in range(first, first + 20)]))
        assert {r.result for r in receipts(rows)} == {"delivered"}
    eventually(lambda: many.server.open <= IDLE, 15.0)  # sooner than each would end by itself
    assert many.server.connections == len(HOSTS)
    rows = many.deliver(flat_batch([row(1_000 + n, pipe=HOSTS[n]) for n in range(180, 200)]))
    assert {r.result for r in receipts(rows)} == {"delivered"}
    assert many.server.connections == len(HOSTS), "the newest ones are kept"


def test_a_connection_in_use_is_not_closed_for_newer_ones(many: Rig) -> None:
    many.deliver(flat_batch([row(0, pipe=HOSTS[0])]))  # an idle connection before
    others_sent = asyncio.Event()

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        if len(many.server.bodies) == 1 + len(HOSTS):
            others_sent.set()
        writer.write(reply(200))

    async def answer_last(_: bytes, writer: asyncio.StreamWriter) -> None:
        await others_sent.wait()
        writer.write(reply(200))

    many.server.manners |= {"/": answer, "/late": answer_last}
    rows = many.deliver(flat_batch([row(n, pipe=host) for n, host in enumerate(["late", *HOSTS[1:]], 1)]))
    assert {(r.result, r.tries) for r in receipts(rows)} == {("delivered", 1)}


def test_four_bad_destinations_leave_no_task_no_thread_and_no_connection(fast: Rig) -> None:
    twenty(fast)
    number = 0

    def round_of(*pipes: str) -> list[Row]:
        nonlocal number
        number += 100
        return fast.deliver(flat_batch([row(number + n, pipe=p) for n, p in enumerate(pipes * 8)]))

    round_of(*BAD)
    fast.wait_limits = WaitLimits(answer=AMPLE, turn=AMPLE)  # the slow ones have left the lane
    round_of(*BAD, "good-0")
    threads, files = threading.active_count(), psutil.Process().num_fds()
    for turn in range(40):
        if turn % 10 == 0:
            fast.let_pass(2 * BREAKER_SECONDS)  # failed ones are tried again
        rows = round_of(*BAD, "good-0")
        assert sum(len(r.ids) for r in receipts(rows) if r.destination == "good-0") == 8
    assert json.loads(fast.server.bodies[-1])
    eventually(lambda: fast.tasks() == 0)
    assert threading.active_count() <= threads
    eventually(lambda: psutil.Process().num_fds() <= files + 8)
    eventually(lambda: fast.connections() <= 2 * 4)  # this process has both ends of each
