"""The front page of the command line."""

import json
import logging
import os
import signal
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts.cli.main import COMMANDS
from tests.harness.child_cpu import cpu_seconds
from tests.harness.command_line import HIFI, Hifi, HifiProcess


def test_the_list_of_commands_imports_none_of_them_and_names_all() -> None:
    code = (
        "import sys; sys.argv = ['hifi', '--help']\n"
        "from scripts.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pyspark', 'confluent_kafka', 'aiohttp', 'msgspec', 'yaml'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout
    assert all(f" {command} " in done.stdout for command in COMMANDS)


def test_it_prints_the_version_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    done = subprocess.run([*HIFI, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"hifi {project['version']}"


@pytest.mark.parametrize(
    ("arguments", "status"), [(("--version",), 0), (("scorecard",), 1), (("get", "pipes"), 2)]
)
def test_a_command_of_this_process_answers_as_one_of_its_own(
    arguments: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    settings = {"HIFI_OBSERVE_URL": "http://127.0.0.1:9", "HIFI_CONTEXTS": str(tmp_path / "contexts.yaml")}
    here, there = (kind(None, settings).run(*arguments) for kind in (Hifi, HifiProcess))
    assert here.returncode == there.returncode == status
    assert (here.stdout, here.stderr) == (there.stdout, there.stderr)


def test_a_command_of_this_process_leaves_it_as_it_was() -> None:
    def state() -> list[object]:
        root, handled = logging.getLogger(), [signal.getsignal(each) for each in signal.valid_signals()]
        streams = [sys.argv, sys.stdin, sys.stdout, sys.stderr, sys.excepthook]
        return [dict(os.environ), Path.cwd(), streams, root.handlers, root.level, handled]

    before = state()
    done = Hifi(None, {"HIFI_BOOTSTRAP": "127.0.0.1:9"}).run("get", "pipe", "x", "--server", "nowhere")
    assert (done.returncode, "HIFI_BOOTSTRAP" in os.environ) == (1, False), done
    assert state() == before


# All in one process: starting one for each took most of a minute.
HELP_PAGES = """
import contextlib, io, json, sys
from scripts.cli.main import main
commands, pages = sys.argv[1:], {}
for command in commands:
    sys.argv, page = ["hifi", command, "--help"], io.StringIO()
    with contextlib.redirect_stdout(page):
        try:
            main()
        except SystemExit as end:
            assert not end.code, command
    pages[command] = page.getvalue()
print(json.dumps(pages))
"""


def test_every_command_has_a_help_page() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", HELP_PAGES, *COMMANDS], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    for command, page in json.loads(shown.stdout).items():
        assert f"Usage: hifi {command}" in page


# The smallest possible typer application: the bound is a multiple of its cost.
BARE = """
import typer
app = typer.Typer()
@app.command()
def one() -> None: ...
@app.command()
def two() -> None: ...
app(["--help"])
"""


@pytest.mark.proof
def test_the_front_page_costs_little_more_than_the_library_it_stands_on() -> None:
    ours, bare = [*HIFI, "--help"], [sys.executable, "-c", BARE]
    ratios = [cpu_seconds(ours) / cpu_seconds(bare) for _ in range(5)]
    assert statistics.median(ratios) < 1.5
