"""Simulates the code in a side's pods: while these exist it moves offsets and answers for them.

KWOK runs no container. So a thread stands for the chain: it looks which pods are ready, writes Spark's
checkpoints to S3 and commits the groups on real brokers. One HTTP server stands for observe and canary.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from pipelines.control.backends.aws.kube_api import POD_HOST, KubeApi
from pipelines.control.backends.aws.s3_checkpoints import S3Checkpoints
from pipelines.control.backends.aws.workloads import is_ready, name_of
from pipelines.control.backends.checkpoints import by_topic, query_positions
from pipelines.control.deploy.backend import BackendError
from shared.contracts.canary_pause import PAUSE_PATH
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import partition_ends
from shared.kafka.group_positions import commit_positions
from shared.kafka.progress_group import group_name
from shared.runtime.metrics import CanaryMetric
from tests.harness.http_server import QuietHandler, http_served

_TURN_SECONDS: Final = 0.3
_QUERIES: Final = {"ingest": "ingest", "route": "route", "transmit": "transmit", "transmit_slow": "transmit"}
"""By query, the program that runs it."""

_CHAIN: Final = frozenset({"collect", "ingest", "route", "transmit"})


class Folder(NamedTuple):
    """A side's folder of the bucket of checkpoints."""

    s3: Any
    bucket: str
    side: str

    def put(self, name: str, text: str) -> None:
        """Write a file of it."""
        self.s3.put_object(Bucket=self.bucket, Key=f"{self.side}/{name}", Body=text.encode())


class Pods:
    """The code of one side."""

    def __init__(self, kube: KubeApi, folder: Folder, bootstrap: str) -> None:
        self._kube, self._folder, self._checkpoints = kube, folder, S3Checkpoints(*folder)
        self._bootstrap = bootstrap
        self._admin: AdminClient = admin_client(bootstrap)
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._canary, self.arrived = "", 0
        self._paused_until = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        """Run until `stop`."""
        while not self._over.wait(_TURN_SECONDS):
            try:
                self._turn()
            except (BackendError, KafkaException):
                continue  # the next turn looks again

    def stop(self) -> None:
        """End `run`."""
        self._over.set()

    def answer(self, path: str) -> bytes:
        """The answers of observe and canary."""
        if path == "/metrics":
            lines = [f"{CanaryMetric.ACKNOWLEDGED}_total {self.arrived}"]
            lines += [f'{CanaryMetric.ARRIVED}_total{{pipe="plain"}} {self.arrived}']
            return "\n".join([*lines, ""]).encode()
        if path.startswith("/v1/minutes"):
            return b"[]"
        return json.dumps({"stable": True}).encode()

    def pause(self, seconds: int) -> None:
        """Let the canary send nothing for some seconds."""
        self._paused_until = time.monotonic() + seconds

    def _turn(self) -> None:
        pods = [each for each in self._kube.list("/api/v1/namespaces/hifi/pods", "") if is_ready(each)]
        running = {name_of(each) for each in pods}
        canary = next((each["metadata"]["uid"] for each in pods if name_of(each) == "canary"), "")
        if canary != self._canary:
            self._canary, self.arrived = canary, 0
        if canary and running >= _CHAIN and time.monotonic() > self._paused_until:
            self._producer.produce(Topic.COLLECTED.value, b"[]")
            self._producer.flush(10)
            self.arrived += 4
        ends = partition_ends(self._admin)
        for query, program in _QUERIES.items():
            if program in running:
                self._batch(query, ends)
        if "retry" in running:
            commit_positions(self._admin, group_name("retry"), _of("retry", ends))

    def _batch(self, query: str, ends: dict[tuple[str, int], int]) -> None:
        wanted = _of(query, ends)
        if query_positions(self._checkpoints).get(query) != wanted:
            done = self._checkpoints.numbers(query, "commits")
            number = max(done, default=-1) + 1
            offsets = f'v1\n{{"conf":{{}}}}\n{json.dumps(by_topic(wanted))}'
            self._folder.put(f"{query}/offsets/{number}", offsets)
            self._folder.put(f"{query}/commits/{number}", "v1\n{}")
        commit_positions(self._admin, group_name(query), wanted)


def _of(node: str, ends: dict[tuple[str, int], int]) -> dict[str, int]:
    return {f"{topic}/{partition}": end for (topic, partition), end in ends.items() if topic in INPUTS[node]}


@contextmanager
def running(pods: Pods) -> Iterator[None]:
    """Run the chain until the block ends."""
    thread = threading.Thread(target=pods.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        pods.stop()
        thread.join()


@contextmanager
def answering(pods: Pods, address: str, port: int) -> Iterator[None]:
    """Answer at an address that the API server reaches, until the block ends."""

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.headers["Host"] == POD_HOST
            self.respond(200, pods.answer(self.path))

        def do_PUT(self) -> None:
            assert self.headers["Host"] == POD_HOST
            assert self.path == PAUSE_PATH
            pods.pause(int(self.rfile.read(int(self.headers["Content-Length"]))))
            self.respond(204, b"")

    with http_served(Handler, address, port):
        yield
