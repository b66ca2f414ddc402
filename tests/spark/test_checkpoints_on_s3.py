"""A checkpoint on S3: what S3 does not take ends the query, instead of being lost unseen."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from scripts.experiments.checkpoints.__main__ import BUCKET, configure, query_program, simulated_s3
from scripts.experiments.checkpoints.slow_s3 import SlowS3, slow_s3
from scripts.local.spark_image import lay_out

pytestmark = pytest.mark.proof

_BATCHES = 1_000
_SECONDS = 240


def _run(folder: Path, proxy: SlowS3) -> "subprocess.Popen[bytes]":
    """The twins' way of writing a checkpoint, in a query that would go on for long."""
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
