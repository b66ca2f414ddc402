"""Checkpoints on S3: every node starts with one, and offsets that S3 rejects end a query."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import boto3
import pytest

from scripts.experiments.checkpoints.__main__ import BUCKET, configure, query_program, simulated_s3
from scripts.experiments.checkpoints.slow_s3 import SlowS3, slow_s3
from scripts.local.spark_image import lay_out
from shared.contracts.topology import INPUTS
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

pytestmark = pytest.mark.proof

_BATCHES = 1_000
_SECONDS = 240


def _run(folder: Path, proxy: SlowS3) -> "subprocess.Popen[bytes]":
    """A query that runs for long, with checkpoints as on the twins."""
    image = lay_out(folder / "image", print)
    configure(image, proxy, {})
    with (folder / "log").open("wb") as output:
        return subprocess.Popen(
            query_program({}, f"s3a://{BUCKET}/twins", _BATCHES, folder / "mark"),
            env={**os.environ, **image.environment(), "AWS_REGION": "us-east-1"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def test_offsets_that_s3_refuses_to_take_end_the_query(tmp_path: Path) -> None:
    with simulated_s3() as port, slow_s3(port, 0.0) as proxy:
        process = _run(tmp_path, proxy)
        try:
            deadline = time.monotonic() + _SECONDS
            while not (tmp_path / "mark").exists():
                assert process.poll() is None, (tmp_path / "log").read_text()[-2_000:]
                assert time.monotonic() < deadline
                time.sleep(0.1)
            proxy.refuses = lambda kind, path: kind == "PUT" and "/offsets/" in path
            assert process.wait(_SECONDS) != 0
        finally:
            process.kill()
            process.wait()
    assert "doesn't exist" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("node", "queries"),
    [
        ("pipelines.data.ingest", ["ingest"]),
        ("pipelines.data.route", ["route"]),
        ("pipelines.data.transmit", ["transmit", "transmit_slow"]),
        ("pipelines.control.audit", ["audit"]),
    ],
)
def test_a_node_of_a_twin_starts_and_notes_its_progress(
    node: str, queries: list[str], topics: str, tmp_path: Path
) -> None:
    image, ready = lay_out(tmp_path / "image", print), tmp_path / "ready"
    with simulated_s3() as port, slow_s3(port, 0.0) as proxy, (tmp_path / "log").open("wb") as output:
        configure(image, proxy, {})
        given = {
            "AWS_REGION": "us-east-1",
            "HIFI_BOOTSTRAP": topics,
            "HIFI_CHECKPOINTS": f"s3a://{BUCKET}/twins",
            "HIFI_MASTER": "local[4]",
            "HIFI_METRICS_PORT": "0",
            "HIFI_READY_FILE": str(ready),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", node],
            env={**os.environ, **image.environment(), **given},
            cwd=tmp_path,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            eventually(lambda: ready.exists() or process.poll() is not None, _SECONDS, f"{node} is ready")
            assert process.poll() is None, (tmp_path / "log").read_text()[-4_000:]
            records = Topics(topics)
            for query in queries:
                records.put(INPUTS[query][0], b"not a record of hifi", [], None)
            records.flush()
            written = partial(_written, port)
            eventually(lambda: all(map(written, queries)), _SECONDS, "progress is on S3", every=1)
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()


def _written(port: int, query: str) -> bool:
    """Whether a query has recorded its position."""
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    found = client.list_objects_v2(Bucket=BUCKET, Prefix=f"twins/{query}/offsets/")
    return bool(found.get("KeyCount"))
