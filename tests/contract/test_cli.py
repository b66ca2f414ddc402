"""The front page of the command line."""

import json
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts.cli.main import COMMANDS
from tests.harness.child_cpu import cpu_seconds
from tests.harness.command_line import HIFI


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


# All in one process: to start one for each took most of a minute.
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


# The smallest possible typer application: the cost of our front page is a multiple of its cost.
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
