"""The twins' Spark image without a container: requirements, jars, configuration and entry point.

A master, a worker and a driver start as the manifests start them, with `spark.authenticate`; the
checkpoint is on S3, with credentials of Pod Identity; Kafka uses TLS with tokens that the broker checks.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from scripts.local.spark_image import SparkImage, lay_out
from shared.spark.session import CHECKPOINTS_ON_S3
from tests.harness.iam_broker import IamBroker, iam_broker
from tests.harness.local_aws import client, local_aws
from tests.harness.pod_identity import REGION, pod_identity
from tests.harness.waiting import eventually

pytestmark = pytest.mark.proof

BUCKET = "checkpoints"
RECORDS = 20
IN_ZONE = Path(__file__).parents[2] / "infra" / "workloads" / "images" / "in-zone.sh"
ZONES = {"HIFI_ZONE_IDS": "eu-west-1a=euw1-az3,eu-west-1b=euw1-az1"}
_SECONDS = 400


class Twin:
    """The image's processes, with the AWS and the broker that they use."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.broker: IamBroker = stack.enter_context(iam_broker(folder))
        self.aws = stack.enter_context(local_aws())
        client("s3", self.aws).create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        self.image: SparkImage = lay_out(folder / "image", print)
        self.image.configure(self._changes())
        self._environment = {
            **os.environ,
            **stack.enter_context(pod_identity(folder)),
            **self.image.environment(),
            **ZONES,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "_SPARK_AUTH_SECRET": secrets.token_hex(32),
        }

    def _changes(self) -> dict[str, str]:
        """Only local addresses and folders."""
        anywhere = ("spark.driver.port", "spark.driver.blockManager.port", "spark.blockManager.port")
        return {
            **dict.fromkeys(anywhere, "0"),
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.deploy.recoveryDirectory": str(self.folder / "state"),
            "spark.hadoop.fs.s3a.endpoint": self.aws,
            "spark.hadoop.fs.s3a.path.style.access": "true",
        }

    def start(self, name: str, zone: str, *command: str, **variables: str) -> "subprocess.Popen[bytes]":
        """Start a process as the image's entry point does; its output goes to a file."""
        with (self.folder / f"{name}.log").open("wb") as output:
            process = subprocess.Popen(
                [str(IN_ZONE), *command],
                env={**self._environment, "HIFI_ZONE": zone, **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )
        self._stack.callback(_end, process)
        return process

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def spark_class(self, *words: str) -> tuple[str, ...]:
        return (str(self.image.home / "bin" / "spark-class"), *words)

    def submit_arguments(self) -> str:
        """The arguments of the drivers' manifest."""
        secret = self._environment["_SPARK_AUTH_SECRET"]
        return (
            "--conf spark.driver.host=127.0.0.1 --conf spark.executor.resource.ingest.amount=1 "
            f"--conf spark.authenticate.secret={secret} pyspark-shell"
        )


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Twin]:
    with ExitStack() as stack:
        yield Twin(tmp_path, stack)


def _address(twin: Twin, name: str, start: str) -> str:
    """A daemon's address, from its log."""

    def found() -> str:
        words = [word for word in twin.log(name).split() if word.startswith(start)]
        return words[-1].strip('".,') if words else ""

    return str(eventually(found, _SECONDS, f"{name} says its address"))


def _records(bootstrap: str) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.subscribe(["out"])
    found: list[bytes] = []
    deadline = time.monotonic() + 60
    while len(found) < RECORDS and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.value() or b"")
    consumer.close()
    return found


def test_an_application_runs_on_the_images_cluster_with_its_checkpoint_on_s3_and_kafka_by_iam(
    twin: Twin,
) -> None:
    producer = Producer({"bootstrap.servers": twin.broker.plain})
    for number in range(RECORDS):
        producer.produce("in", b"%d" % number)
    assert producer.flush(60) == 0

    daemon = ("--host", "127.0.0.1", "--webui-port", "0")
    twin.start(
        "master", "", *twin.spark_class("org.apache.spark.deploy.master.Master", *daemon, "--port", "0")
    )
    master = _address(twin, "master", "spark://")
    work = twin.folder / "work"
    twin.start(
        "worker",
        "eu-west-1b",
        *twin.spark_class("org.apache.spark.deploy.worker.Worker", *daemon, "--port", "0"),
        *("--cores", "9", "--memory", "3g", "--work-dir", str(work), master),
    )
    sidecar = twin.start("executors", "", sys.executable, "-m", "shared.spark.executor_logs", str(work))
    driver = twin.start(
        "driver",
        "eu-west-1a",
        *(sys.executable, "-m", "tests.spark.twin_query", twin.broker.secured, str(twin.broker.certificate)),
        HIFI_BOOTSTRAP="unused:1",
        HIFI_MASTER=master,
        HIFI_CHECKPOINTS=f"s3a://{BUCKET}/blue",
        HIFI_DRIVER_MEMORY="1g",
        PYSPARK_SUBMIT_ARGS=twin.submit_arguments(),
    )
    assert driver.wait(_SECONDS) == 0, twin.log("driver")[-4_000:] + twin.log("worker")[-2_000:]

    # Each executor reads in its own zone, whatever the driver's zone is.
    assert sorted(_records(twin.broker.plain)) == sorted(b"%d@euw1-az1" % n for n in range(RECORDS))
    # The JVM may write more lines while it ends.
    (said,) = [line for line in twin.log("driver").splitlines() if line.startswith('{"rack"')]
    found = json.loads(said)
    assert found["rack"] == "euw1-az3"
    assert found["authenticate"] == "true"
    assert found["manager"] == CHECKPOINTS_ON_S3
    assert found["region"] == REGION

    keys = {each["Key"] for each in client("s3", twin.aws).list_objects_v2(Bucket=BUCKET)["Contents"]}
    assert {"blue/twin/offsets/0", "blue/twin/commits/0", "blue/twin/metadata"} <= keys
    assert not any("tmp" in key for key in keys), "nothing was renamed into place"

    _end(sidecar)
    lines = [json.loads(line) for line in twin.log("executors").splitlines()]
    assert lines, "executors' lines reach the log of the worker's pod"
