"""A deployer over a fake place in a file, with a fast clock, to run in a separate process.

Environment variables besides the deployer's settings:

- FAKE_PLACE: the file.
- FAKE_SPEED, FAKE_START: how much faster than real time the clock of releases runs, and when both agreed.
- FAKE_GO: a file; no weights are set until it exists.
- FAKE_PASSED, FAKE_HELD: the process is held in the first step that is not in FAKE_PASSED, and writes the
  step's name to the file FAKE_HELD.
"""

import json
import os
import time
from functools import cache, partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

from pipelines.control.deploy import service
from pipelines.control.deploy.settings import DeploySettings
from shared.contracts.release_steps import Step
from shared.dynamodb.client import dynamodb_client
from shared.runtime.clock import Clock
from shared.runtime.shutdown import stop_event
from tests.harness.fake_place import FakePlace
from tests.harness.step_barrier import HeldStore, StepBarrier

PLACE: Final = "FAKE_PLACE"
SPEED: Final = "FAKE_SPEED"
START: Final = "FAKE_START"
GO: Final = "FAKE_GO"
PASSED: Final = "FAKE_PASSED"
HELD: Final = "FAKE_HELD"

dynamodb_client("http://127.0.0.1")  # reads DynamoDB's description once, for all processes that are forked


def run_deployer() -> None:
    """Run it until SIGTERM."""
    settings = DeploySettings()  # type: ignore[call-arg]  # from the environment
    with patch.object(service, "ReleaseStore", partial(HeldStore, barrier=_barrier())):
        deploy = service.Deploy(settings, fast_clock(), time.monotonic)
    deploy.run(stop_event())


def fake_backend() -> FakePlace:
    """The backend that HIFI_BACKEND names."""
    place, go = FakePlace(fast_clock(), Path(os.environ[PLACE])), Path(os.environ[GO])

    def wait(name: str) -> None:
        while name == "set_weights" and not go.exists():
            time.sleep(0.02)

    place.before_call = wait
    place.after_call = lambda _: _barrier().reach()
    return place


def fast_clock() -> Clock:
    """Epoch milliseconds that pass FAKE_SPEED times faster since FAKE_START."""
    start, speed = float(os.environ[START]), float(os.environ[SPEED])
    return lambda: int(1_000 * (start + (time.time() - start) * speed))


@cache
def _barrier() -> StepBarrier:
    """This process's."""
    passed = frozenset(Step(each) for each in json.loads(os.environ[PASSED]))
    return StepBarrier(Path(os.environ[HELD]), passed)
