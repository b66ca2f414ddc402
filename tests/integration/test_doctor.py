"""`hifi doctor` on a side with a hanging driver."""

import os
import re
import signal

import psutil
import pytest

from scripts.local.doctor.checks import Check
from scripts.local.doctor.health import health
from scripts.local.processes.spark_programs import SPARK
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually

pytestmark = [pytest.mark.fault, pytest.mark.proof]

FOUND_SECONDS = 240
"""A minute without a batch, and the looks of a busy machine."""

BACK_SECONDS = 600


def test_a_driver_whose_jvm_is_suspended_is_found_and_the_fix_brings_another_one(live: LiveSide) -> None:
    eventually(lambda: _ends_batches(live), BACK_SECONDS, "the driver is healthy")
    _jvm(live).suspend()
    eventually(lambda: not _batches(live).ok, FOUND_SECONDS, "the suspended JVM is found")
    check = _batches(live)
    named = re.search(r"kill -9 (\d+)", check.fix or "")
    assert named, check
    before = live.supervisor.pid(SPARK)
    assert int(named[1]) == before
    os.kill(before, signal.SIGKILL)
    eventually(lambda: live.supervisor.pid(SPARK) not in {0, before}, BACK_SECONDS, "another driver starts")
    eventually(lambda: _ends_batches(live), BACK_SECONDS, "its queries end batches")


def _batches(live: LiveSide) -> Check:
    """The check of batches. Its absence is a failure too: then no driver is ready."""
    found = (check for check in health(live.side) if check.name == "batches")
    return next(found, Check(name="batches", found="no driver is ready", fix="wait"))


def _ends_batches(live: LiveSide) -> bool:
    check = _batches(live)
    return check.ok and check.found.startswith("the last one ended")


def _jvm(live: LiveSide) -> psutil.Process:
    return next(each for each in live.processes(SPARK) if each.name() == "java")
