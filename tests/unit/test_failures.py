"""The last lines of `make test`: each failed test with reason and output stream."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.failures import REPORTS, main

_TESTS = """
import pytest

@pytest.fixture
def broken():
    raise OSError("no broker answers")

def test_that_passes(): pass
def test_that_fails(): assert 1 + 1 == 3, "sums are wrong"
def test_without_its_fixture(broken): pass
class TestOfAClass:
    def test_in_it(self): raise OSError("no disk")
"""


def test_each_failure_is_said_with_its_reason_and_a_stream_that_ended_early_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_some.py").write_text(_TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_some.py"]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # none is needed, and some take a second
    done = subprocess.run([*command, f"--junitxml={REPORTS}/side.xml"], capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    subprocess.run([*command, f"--junitxml={REPORTS}/chain.xml", "-k", "other"], check=False)
    assert main(["side", "planes", "chain"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"side: FAILED test_some.py::test_that_fails\n +E +AssertionError: sums are wrong", said)
    assert re.search(r"side: FAILED test_some.py::test_without_its_fixture\n +E +OSError: no broker", said)
    assert "side: FAILED test_some.py::TestOfAClass::test_in_it\n" in said
    assert "test_that_passes" not in said
    assert "planes: ended before its tests did" in said
    assert "chain: FAILED none of its tests was chosen" in said
