"""collect drops large answers that clients do not read when they take memory that others need."""

import gzip
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil

from shared.contracts.limits import MAX_BODY_BYTES
from tests.contract.collect.attacks import head
from tests.contract.collect.conftest import Start
from tests.contract.collect.process import BATCH, GOOD, KEY, CollectProcess
from tests.harness.connections import until_closed
from tests.harness.service_process import HOST
from tests.harness.waiting import eventually

_COUNT = 16
"""Clients. Their unread answers take twice the memory that there is."""

_REFUSED = gzip.compress(b"[" + b"0," * 9_999 + b"0]")
"""Events; the answer says why each is refused, in a megabyte. The kernel takes four of these for a client."""

_ANSWER = b"HTTP/1.1 400"


def test_answers_that_are_not_read_are_bounded_and_the_oldest_give_way(start: Start) -> None:
    process = start(bodies_bytes=str(MAX_BODY_BYTES))
    with ExitStack() as stack:
        unread = [stack.enter_context(_reads_nothing(process)) for _ in range(_COUNT)]
        eventually(lambda: _connections(process) < _COUNT, what="some are dropped")
        assert process.post(GOOD).status == 202
        rest = [until_closed(each).count(_ANSWER) for each in unread]
        assert min(rest) < 5, "who was dropped has not all of them"
        assert max(rest) == 5, "who was not has"


@contextmanager
def _reads_nothing(process: CollectProcess) -> Iterator[socket.socket]:
    """A client that sends six requests; its first answer has begun."""
    length = f"content-length: {len(_REFUSED)}"
    wanted = ("content-encoding: gzip", length)
    first = head("/v1/events", KEY, BATCH, *wanted) + _REFUSED
    last = head("/v1/events", KEY, BATCH, "connection: close", *wanted) + _REFUSED
    with socket.socket() as client:
        client.settimeout(60)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect((HOST, process.port))
        client.sendall(5 * first + last)
        assert client.recv(len(_ANSWER)) == _ANSWER
        yield client


def _connections(process: CollectProcess) -> int:
    """The number of connections between the process and its clients."""
    found = psutil.Process(process.process.pid).net_connections("tcp")
    return sum(each.status == psutil.CONN_ESTABLISHED and each.laddr[1] == process.port for each in found)
