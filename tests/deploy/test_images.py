"""The chain in containers of the two images, named by HIFI_SERVICE_IMAGE and HIFI_SPARK_IMAGE.

GitHub's workflow `test` builds both and runs this. Without a container engine,
`tests/spark/test_twin_image.py` proves their parts.
"""

import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which

import pytest

from shared.contracts.documents import Destination, Pipe, Source, sealed
from tests.harness.service_process import request
from tests.harness.topics import Topics
from tests.harness.waiting import eventually, free_port

pytestmark = pytest.mark.proof

KEY = "images-write-key"
EVENTS = 20
_IMAGES = {kind: os.environ.get(f"HIFI_{kind.upper()}_IMAGE", "") for kind in ("service", "spark")}
_READY_SECONDS = 300


@pytest.fixture(scope="module", autouse=True)
def engine() -> None:
    if not all(_IMAGES.values()):
        pytest.skip("no images: build both, and name them in HIFI_SERVICE_IMAGE and HIFI_SPARK_IMAGE")
    if which("docker") is None:
        pytest.skip("no docker to run the images")


@contextmanager
def _destination() -> Iterator[tuple[str, list[bytes]]]:
    """A webhook on this machine: its URL, and the bodies that arrive."""
    bodies: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", bodies
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _container(image: str, log: Path, words: list[str], variables: dict[str, str]) -> Iterator[None]:
    """Run a container as the manifests do: not as root, without capabilities, on a read-only file system."""
    name = f"hifi-{uuid.uuid4().hex[:12]}"
    given = [part for key, value in variables.items() for part in ("--env", f"{key}={value}")]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *("docker", "run", "--rm", "--name", name, "--network", "host"),
                *("--read-only", "--tmpfs", "/tmp:exec,mode=1777", "--cap-drop", "ALL"),
                *("--security-opt", "no-new-privileges", *given, image, *words),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        subprocess.run(["docker", "stop", "--time", "60", name], check=False, capture_output=True)
        process.wait(120)


def _start(stack: ExitStack, folder: Path, bootstrap: str) -> int:
    """Start the chain's five nodes and wait until they are ready; returns collect's port."""
    side = {"HIFI_BOOTSTRAP": bootstrap, "HIFI_ALLOW_LOOPBACK": "true", "AWS_REGION": "eu-west-1"}
    ports = {node: free_port() for node in ("collect", "retry", "ingest", "route", "transmit")}
    for node, port in ports.items():
        spark = node in ("ingest", "route", "transmit")
        own = (
            {"HIFI_METRICS_PORT": str(port), "HIFI_CHECKPOINTS": "/tmp/checkpoints", "TMPDIR": "/tmp"}
            if spark
            else {"HIFI_HOST": "127.0.0.1", "HIFI_PORT": str(port)}
        )
        words = [*(["python"] if spark else []), "-m", f"pipelines.data.{node}"]
        image = _IMAGES["spark" if spark else "service"]
        stack.enter_context(_container(image, folder / f"{node}.log", words, side | own))
    for node, port in ports.items():
        log = folder / f"{node}.log"
        eventually(partial(_ready, port), _READY_SECONDS, f"{node}: {log}")
    return ports["collect"]


def _ready(port: int) -> bool:
    try:
        return request(port, "GET", "/readyz").status == HTTPStatus.OK
    except OSError:
        return False


def test_events_go_through_the_chain_of_the_images_and_arrive_byte_for_byte(
    topics: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        url, bodies = stack.enter_context(_destination())
        Topics(topics).publish(
            sealed(Source(name="images", tenant="images", write_keys=[KEY])),
            Destination(name="images", tenant="images", options={"url": url, "format": "event"}),
            Pipe(name="images", tenant="images", source="images", destination="images"),
        )
        collect = _start(stack, tmp_path, topics)
        events = [b'{"number": %d, "price": 1.10}' % number for number in range(EVENTS)]
        for event in events:
            headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
            assert request(collect, "POST", "/v1/events", event, headers).status == HTTPStatus.ACCEPTED
        eventually(lambda: len(bodies) >= EVENTS, 120, "the events arrive")
        text = b"\n".join(bodies)
        assert all(text.count(event) == 1 for event in events)
