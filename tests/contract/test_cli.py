"""The command's front page."""

import subprocess
import sys
import time

import pytest

from scripts.cli import VERBS

pytestmark = pytest.mark.contract


def test_the_page_of_verbs_imports_none_of_them_and_names_all() -> None:
    code = (
        "import sys; sys.argv = ['hifi', '--help']\n"
        "from scripts.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pyspark', 'confluent_kafka', 'aiohttp', 'msgspec', 'yaml'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout
    assert all(f" {verb} " in done.stdout for verb in VERBS)


def test_every_verb_explains_itself() -> None:
    for verb in VERBS:
        done = subprocess.run(
            [sys.executable, "-m", "scripts.cli", verb, "--help"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "Usage" in done.stdout


def test_the_front_page_is_quick() -> None:
    took = []
    for _ in range(3):  # the best of three: other work on the machine must not fail this
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "scripts.cli", "--help"], capture_output=True, check=True)
        took.append(time.monotonic() - began)
    assert min(took) < 1.0
