"""`python -m scripts.experiments.checkpoints`: the end of a batch with the checkpoint on S3, by two managers.

A simulated S3 behind a proxy that delays each request by S3's usual 30 ms. Each manager writes the checkpoint
of the same query in turn; the proxy counts its requests by verb.
"""

import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
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
from scripts.experiments.harness.output import report, say, write_json
from scripts.local.spark_image import SparkImage, lay_out
from scripts.terminal import out, run_command
from shared.runtime.errors import OperatorError
from shared.spark.session import CHECKPOINTS_ON_DISK, CHECKPOINTS_ON_S3

_DELAY_MS: Final = 30.0
_BUCKET: Final = "checkpoints"
_KEY: Final = "testing"
_START_SECONDS: Final = 60.0
_MOST_SECONDS: Final = 600
_MANAGERS: Final = {"rename": CHECKPOINTS_ON_DISK, "abortable": CHECKPOINTS_ON_S3}
_CHOSEN: Final = "abortable"
_MOST_OF_THE_OTHER: Final = 0.5
"""The chosen manager's boundary takes at most half of the other's."""


APP = typer.Typer(add_completion=False)


class MeasurementError(OperatorError):
    """A measured program failed; the text has the end of its output."""


class Boundary(Struct, frozen=True, kw_only=True):
    """The end of a batch by one manager."""

    manager: str
    batches: int
    batch_seconds: float
    boundary_seconds: list[float]
    """Of each batch, ascending: both log files."""

    requests: dict[str, float]
    """A batch, by kind."""

    @property
    def median_seconds(self) -> float:
        """The median boundary."""
        return self.boundary_seconds[len(self.boundary_seconds) // 2]

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count:.1f}" for kind, count in sorted(self.requests.items()))
        return (
            f"{self.manager}: boundary {self.median_seconds * 1_000:.0f} ms (median of {self.batches}; "
            f"highest {self.boundary_seconds[-1] * 1_000:.0f} ms), "
            f"whole batch {self.batch_seconds * 1_000:.0f} ms; requests a batch: {kinds}"
        )


@APP.command()
def boundaries(
    batches: Annotated[int, typer.Option(help="Measured batches of each manager.")] = 60,
    delay_ms: Annotated[float, typer.Option(help="Added to each request, ms.")] = _DELAY_MS,
    json: Annotated[Path | None, typer.Option(help="Write the figures to this file.")] = None,
) -> None:
    """Measure both managers and compare them.

    Raises:
        MeasurementError: if a measured program fails.
        BrokenBoundError: if the chosen manager is not much faster.
    """
    with TemporaryDirectory(prefix="hifi-") as folder, _simulated_s3() as port:
        image = lay_out(Path(folder) / "image", say)
        with slow_s3(port, delay_ms / 1_000) as proxy:
            _configure(image, proxy)
            found = {name: _measure(name, image, proxy, Path(folder), batches) for name in _MANAGERS}
    for each in found.values():
        out().print(str(each), markup=False, soft_wrap=True)
    if json is not None:
        write_json(json, found)
    ratio = found[_CHOSEN].median_seconds / found["rename"].median_seconds
    report([Bound(what="boundary, abortable over rename", figure=ratio, most=_MOST_OF_THE_OTHER, unit="x")])


@contextmanager
def _simulated_s3() -> Iterator[int]:
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
    client.create_bucket(Bucket=_BUCKET)


def _configure(image: SparkImage, proxy: SlowS3) -> None:
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
        }
    )


def _measure(name: str, image: SparkImage, proxy: SlowS3, folder: Path, batches: int) -> Boundary:
    say(f"measuring {name}")
    mark = folder / f"{name}.measuring"
    program = [
        *(sys.executable, "-m", "scripts.experiments.checkpoints.query"),
        *(_MANAGERS[name], f"s3a://{_BUCKET}/{name}", str(batches), str(mark)),
    ]
    before: Counter[str] = Counter()
    with (folder / f"{name}.log").open("w+") as log:
        process = subprocess.Popen(
            program,
            env={**os.environ, **image.environment(), "AWS_REGION": "us-east-1", "TMPDIR": str(folder)},
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
    return Boundary(manager=name, requests=requests, **figures)


if __name__ == "__main__":
    run_command(APP)
