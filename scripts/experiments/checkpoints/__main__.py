"""`python -m scripts.experiments.checkpoints`: the end of a batch with the checkpoint on S3, by each manager.

A simulated S3 behind a proxy that delays each request by S3's usual 30 ms. The same query runs with each way
of writing its checkpoint in turn; the proxy counts its requests by verb.
"""

import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import boto3
import msgspec
import typer
from msgspec import Struct

from scripts.experiments.checkpoints.slow_s3 import SlowS3, slow_s3
from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.output import report, say, writable, write_json
from scripts.local.pyspark_package import with_own_spark
from scripts.local.spark_image import SparkImage, lay_out
from scripts.terminal import out, run_command
from shared.runtime.errors import OperatorError
from shared.spark.session import CHECKPOINTS_ON_DISK, checkpoint_settings

_DELAY_MS: Final = 30.0
BUCKET: Final = "checkpoints"
_KEY: Final = "testing"
_START_SECONDS: Final = 60.0
_MOST_SECONDS: Final = 600
_MANAGER: Final = "spark.sql.streaming.checkpointFileManagerClass"
_FLAGS: Final = "spark.hadoop.fs.s3a.performance.flags"
_RENAME: Final = {_MANAGER: CHECKPOINTS_ON_DISK, "spark.sql.streaming.metadataCache.enabled": "true"}
_WAYS: Final[dict[str, tuple[dict[str, str], dict[str, str]]]] = {
    "rename": (_RENAME, {_FLAGS: ""}),
    "abortable": (checkpoint_settings("s3a://"), {_FLAGS: ""}),
    "twins": (checkpoint_settings("s3a://"), {}),
}
"""Settings of the session, and changes of the twins' configuration, by name."""

_BEFORE: Final = "rename"
_CHOSEN: Final = "twins"
_MOST_OF_THE_OTHER: Final = 0.95
"""The chosen way's boundary takes at most this share of a rename's."""


APP = typer.Typer(add_completion=False)


class MeasurementError(OperatorError):
    """A measured program failed; the text has the end of its output."""


class Boundary(Struct, frozen=True, kw_only=True):
    """The end of a batch by one way of writing a checkpoint."""

    way: str
    batches: int
    batch_seconds: float
    boundary_seconds: list[float]
    """Times of each batch, ascending, for both log files."""

    requests: dict[str, float]
    """A batch, by kind."""

    @property
    def median_seconds(self) -> float:
        """The median boundary."""
        return self.boundary_seconds[len(self.boundary_seconds) // 2]

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count:.1f}" for kind, count in sorted(self.requests.items()))
        return (
            f"{self.way}: boundary {self.median_seconds * 1_000:.0f} ms (median of {self.batches}; "
            f"highest {self.boundary_seconds[-1] * 1_000:.0f} ms), "
            f"whole batch {self.batch_seconds * 1_000:.0f} ms; requests a batch: {kinds}"
        )


@APP.command()
def boundaries(
    batches: Annotated[int, typer.Option(help="Measured batches of each way.")] = 60,
    delay_ms: Annotated[float, typer.Option(help="Added to each request, ms.")] = _DELAY_MS,
    json: Annotated[
        Path | None, typer.Option(callback=writable, help="Write the figures to this file.")
    ] = None,
) -> None:
    """Measure each way and compare them.

    Raises:
        MeasurementError: if a measured program fails.
        BrokenBoundError: if the chosen one is not much faster.
    """
    with TemporaryDirectory(prefix="hifi-") as folder, simulated_s3() as port:
        image = lay_out(Path(folder) / "image", say)
        with slow_s3(port, delay_ms / 1_000) as proxy:
            found = {name: _measure(name, image, proxy, Path(folder), batches) for name in _WAYS}
    for each in found.values():
        out().print(str(each), markup=False, soft_wrap=True)
    if json is not None:
        write_json(json, found)
    ratio = found[_CHOSEN].median_seconds / found[_BEFORE].median_seconds
    report(
        [Bound(what="boundary, the twins' over a rename's", figure=ratio, most=_MOST_OF_THE_OTHER, unit="x")]
    )


@contextmanager
def simulated_s3() -> Iterator[int]:
    """Run a simulated S3 with the bucket until the block ends; yields its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _make_bucket(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def _make_bucket(port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        if time.monotonic() > deadline:
            raise MeasurementError("simulated S3 did not start", "`make setup` installs moto")
        time.sleep(0.2)
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id=_KEY,
        aws_secret_access_key=_KEY,
    )
    client.create_bucket(Bucket=BUCKET)


def configure(image: SparkImage, proxy: SlowS3, changes: Mapping[str, str]) -> None:
    """Write the twins' configuration for a driver by itself, with its S3 behind the proxy."""
    provider = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
    image.configure(
        {
            "spark.hadoop.fs.s3a.endpoint": proxy.url,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.aws.credentials.provider": provider,
            "spark.hadoop.fs.s3a.access.key": _KEY,
            "spark.hadoop.fs.s3a.secret.key": _KEY,
            "spark.driver.port": "0",
            "spark.driver.blockManager.port": "0",
            "spark.blockManager.port": "0",
            "spark.authenticate": "false",
            "spark.network.crypto.enabled": "false",
            **changes,
        }
    )


def query_program(session: Mapping[str, str], checkpoints: str, batches: int, mark: Path) -> list[str]:
    """The command line of the measured program."""
    return [
        *(sys.executable, "-m", "scripts.experiments.checkpoints.query"),
        *(msgspec.json.encode(session).decode(), checkpoints, str(batches), str(mark)),
    ]


def _measure(name: str, image: SparkImage, proxy: SlowS3, folder: Path, batches: int) -> Boundary:
    say(f"measuring {name}")
    session, changes = _WAYS[name]
    configure(image, proxy, changes)
    mark = folder / f"{name}.measuring"
    program = query_program(session, f"s3a://{BUCKET}/{name}", batches, mark)
    before: Counter[str] = Counter()
    with (folder / f"{name}.log").open("w+") as log:
        process = subprocess.Popen(
            program,
            env={
                **with_own_spark(os.environ),
                **image.environment(),
                "AWS_REGION": "us-east-1",
                "TMPDIR": str(folder),
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + _MOST_SECONDS
        while not mark.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        before = proxy.counts()
        process.wait(_MOST_SECONDS)
        after = proxy.counts()
        log.seek(0)
        text = log.read()
    if process.returncode:
        raise MeasurementError(f"{name} ended with {process.returncode}: {text[-2_000:]}", "read its output")
    figures = msgspec.json.decode(text.strip().rpartition("\n")[2])
    requests = {kind: (after - before)[kind] / figures["batches"] for kind in after - before}
    return Boundary(way=name, requests=requests, **figures)


if __name__ == "__main__":
    run_command(APP)
