"""People read both sides from several threads at once, and whichever version wrote the rows."""

import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from time import monotonic

import pytest

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.activity_rows import ACTIVITY, added
from shared.dynamodb.client import dynamodb_client
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.sides_reader import SidesReader
from shared.runtime.clock import wall_clock
from tests.contract.conftest import STORE_SECONDS
from tests.harness.http_server import QuietHandler, http_served

TABLE = "documents-of-sides"
STABLE = Stability(stable=True)
TOGETHER = 3
WAIT_SECONDS = 0.8 * STORE_SECONDS
"""Less than the client waits for an answer."""


@contextmanager
def only_together(url: str, what: bytes) -> Iterator[str]:
    """An address in front of the table that answers requests about `what` only once TOGETHER of them wait."""
    gate = threading.Barrier(TOGETHER, timeout=WAIT_SECONDS)

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if what in body:
                gate.wait()
            headers = {name: text for name, text in self.headers.items() if name.lower() != "host"}
            try:
                with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:
                    status, found = reply.status, reply.read()
            except urllib.error.HTTPError as refusal:
                status, found = refusal.code, refusal.read()
            self.respond(status, found, "application/x-amz-json-1.0")

    with http_served(Handler) as served:
        yield served


def test_looks_at_the_same_side_do_not_wait_for_each_others_requests(dynamodb_local: str) -> None:
    DocumentTable(TABLE, dynamodb_local).ensure()
    register = ActivityRegister(
        TABLE, dynamodb_local, side="solo", owner="ann", clock=wall_clock, monotonic=monotonic
    )
    register.begin(Action.MAINTAIN, "a patch", STABLE, lease_seconds=900)
    with (
        only_together(dynamodb_local, b"activities#solo") as url,
        ThreadPoolExecutor(TOGETHER) as threads,
    ):
        reader = SidesReader(TABLE, url, own="solo", health=lambda: STABLE, clock=wall_clock)
        looks = [threads.submit(reader.look, 0) for _ in range(TOGETHER)]
        acting = [[str(each) for each in look.result().sides[0].activities] for look in looks]
    assert acting == [["maintenance: maintain (a patch)"]] * TOGETHER


def test_an_activity_that_a_newer_version_wrote_ends_no_answer_and_is_logged_once(
    dynamodb_local: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = f"{TABLE}-newer"
    DocumentTable(table, dynamodb_local).ensure()
    register = ActivityRegister(
        table, dynamodb_local, side="solo", owner="ann", clock=wall_clock, monotonic=monotonic
    )
    register.begin(Action.MAINTAIN, "a patch", STABLE, lease_seconds=900)
    put_newer_activity(table, dynamodb_local)
    reader = SidesReader(table, dynamodb_local, own="solo", health=lambda: STABLE, clock=wall_clock)
    with caplog.at_level(logging.ERROR):
        looks = [reader.look(0) for _ in range(3)]
    acting = [[str(each) for each in look.sides[0].activities] for look in looks]
    assert acting == [["maintenance: maintain (a patch)"]] * 3
    said = [(each.message.partition(":")[0], each.__dict__["row"]) for each in caplog.records]
    assert said == [("activities of solo", "activity/newer")]


def put_newer_activity(table: str, url: str) -> None:
    newer = Activity(
        id="newer", action=Action.MAINTAIN, reason="r", owner="o", fence=9, since_ms=1, lease_seconds=900
    )
    row = added(table, "solo", ACTIVITY, newer)["Put"]["Item"]
    row["item"]["S"] = row["item"]["S"].replace(Action.MAINTAIN.value, "verify a backup")
    dynamodb_client(url).put_item(TableName=table, Item=row)
