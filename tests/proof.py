"""`python -m tests.proof [PART ... | --rest]`: runs the tests that `make test` leaves out, part by part.

Parts that only check run three at a time, as the streams of `make test` do; those that measure run one at a
time after them. One that only waits runs beside them all; one that fails stops none. It ends with a table;
logs and reports stay in `proof/`. With `--rest` only those parts run that have not proven this very commit.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.harness.live_side import LiveSide
from tests.proven import Record, checked_out, keep, proven

LOGS: Final = Path("proof")
_LOOK_SECONDS: Final = 0.5
_REST: Final = "--rest"
_CLIENT_LOG: Final = re.compile(r"%[0-9]\|")
"""Begins a line of librdkafka's on stderr."""

_STREAMS: Final = 3  # as many as `make test` has: each one mostly waits for its processes
_PYTEST: Final = (sys.executable, "-m", "pytest")
_BAD_VERSIONS: Final = "tests/twins/test_bad_versions.py"
_ATTACKS: Final = "tests/contract/collect/test_memory.py"


@dataclass(frozen=True)
class Part:
    """A part: what it proves, and the command that fails if it does not hold."""

    name: str
    proves: str
    command: Sequence[str]
    side: bool = False
    """Whether the command needs a running side; its folder is passed as --data."""

    only_waits_after: str | None = None
    """Text in its log after which the other parts may run beside it."""

    measures: bool = False
    """Whether its figures, or its limits of time, need the machine to itself."""


def _tests(name: str, proves: str, *, measures: bool = False) -> Part:
    return Part(name, proves, (*_PYTEST, f"tests/{name}", "--tier", "proof"), measures=measures)


PARTS: Final = (  # checks: the longest first, so that the streams end at about the same time
    Part(
        "kubernetes",
        "the deployer's backend for AWS on two real control planes, which it builds first",
        ("make", "--no-print-directory", "test-kubernetes"),
    ),
    _tests("deploy", "all stacks applied, planned again, switched, destroyed; LocalStack"),
    _tests("truth", "600,000 events with known losses; a million clean ones"),
    Part(
        "contract",
        "services without brokers, stores and destinations, and what returns",
        (*_PYTEST, "tests/contract", "--tier", "proof", "--ignore", _ATTACKS),
    ),
    _tests("bench", "the bench itself"),
    _tests("spark", "queries killed between batches; slow lanes; a node as an application"),
    _tests("console", "every page at any width, in both themes; a meter that is away"),
    Part("unit", "laws of pure functions, on 200 examples each", (*_PYTEST, "tests/unit")),
    _tests("synth", "policies (checkov), workflows (actionlint), time of the synthesis"),
    _tests(
        "integration",
        "kills of each part under load; retries, replays, the meter against the receiver",
        measures=True,
    ),
    Part(
        "twins",
        "two sides behind one port: good versions, switches, patches, the demo, under load",
        (*_PYTEST, "tests/twins", "--tier", "proof", "-rP", "--ignore", _BAD_VERSIONS),
        measures=True,
    ),
    Part(
        "bad-versions",
        "versions that are bad in ten ways: found and undone on two sides under load",
        (*_PYTEST, _BAD_VERSIONS, "--tier", "proof", "-rP"),
        measures=True,
    ),
    Part(
        "attacks",
        "collect attacked in seventeen ways: its memory bounded, a good client's p95 under 200 ms",
        (*_PYTEST, _ATTACKS, "--tier", "proof"),
        measures=True,
    ),
    Part(
        "outage",
        "ten minutes without a destination: nothing lost, the others undisturbed",
        (sys.executable, "-m", "scripts.cli", "trial", "outage"),
        side=True,
        only_waits_after="waiting ones leave retry",
    ),
    Part(
        "neighbours",
        "four bad destinations beside sixteen good ones",
        (sys.executable, "-m", "scripts.experiments.noisy_neighbour", "lags", "--pairs", "3"),
        measures=True,
    ),
    Part(
        "leaks",
        "six minutes with bad destinations",
        (sys.executable, "-m", "scripts.experiments.noisy_neighbour", "leaks", "--seconds", "360"),
        measures=True,
    ),
    Part(
        "overhead",
        "what the meter costs the chain",
        (sys.executable, "-m", "scripts.experiments.overhead", "--pairs", "3"),
        measures=True,
    ),
    Part(
        "takeover",
        "a driver killed, stopped and suspended beside a standby: late seconds, nothing lost",
        (sys.executable, "-m", "scripts.experiments.takeover"),
        measures=True,
    ),
    Part(
        "in-force",
        "a change of a pipe is in force within five seconds, under load",
        (sys.executable, "-m", "scripts.experiments.configuration", "in-force"),
        measures=True,
    ),
    Part(
        "documents",
        "10,000 pipes of 1,000 tenants: start, changes, memory, CPU per event",
        (sys.executable, "-m", "scripts.experiments.configuration", "many"),
        measures=True,
    ),
    Part(
        "rating",
        "lag, CPU and rating beside plain loops",
        (sys.executable, "-m", "scripts.cli", "bench", "--repeats", "2"),
        measures=True,
    ),
)


@dataclass(frozen=True)
class Result:
    """The result of a part."""

    part: Part
    status: int
    seconds: float
    figures: str
    """The last line of the command's output."""


def prove(part: Part) -> Result:
    """Run one part, with its output in a log of its own."""
    LOGS.mkdir(exist_ok=True)
    log, began = _log(part), time.monotonic()
    with log.open("wb") as output, _place(part) as place:
        command = [*part.command, *place]
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    return Result(part, status, time.monotonic() - began, _figures(log.read_text(errors="replace")))


def _figures(output: str) -> str:
    """The last line of a part's output, without what Kafka clients log when they are ended after it."""
    lines = (line.strip(" =") for line in output.splitlines() if not _CLIENT_LOG.match(line))
    return next((line for line in reversed([*lines]) if line), "")


@contextmanager
def _place(part: Part) -> Iterator[Sequence[str]]:
    if not part.side:
        yield ()
        return
    side = LiveSide.fresh(LOGS / f"{part.name}-side")
    try:
        side.up()
        yield ("--data", str(side.side.root))
    finally:
        side.end()


def main(names: Sequence[str]) -> int:
    """Run the named parts, or all; returns the exit status."""
    rest = list(names) == [_REST]
    known, wanted = {part.name: part for part in PARTS}, () if rest else names
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.stderr.write(f"no such part: {', '.join(unknown)}; there are {', '.join(known)}\n")
        return 2
    console, commit, chosen = Console(), checked_out(), [known[name] for name in wanted] or list(PARTS)
    found = _results_of(commit) if rest else {}
    ran = run_parts([part for part in chosen if part.name not in found], console, commit)
    found |= {result.part.name: result for result in ran}
    console.print(_table([found[part.name] for part in chosen]))
    return int(any(result.status for result in ran))


def _results_of(commit: str) -> dict[str, Result]:
    """By name, the parts that have proven a commit."""
    return {
        part.name: Result(part, record.status, record.seconds, record.figures)
        for part in PARTS
        if (record := proven(LOGS, part.name, commit))
    }


def run_parts(parts: Sequence[Part], console: Console, commit: str) -> list[Result]:
    """Results in the order of `parts`; those that wait start first, those that measure last."""

    def run(part: Part) -> Result:
        console.print(f"{part.name}: {part.proves} ...")
        result = prove(part)
        record = Record(commit=commit, status=result.status, seconds=result.seconds, figures=result.figures)
        keep(LOGS, part.name, record)
        console.print(f"{part.name}: {_outcome(result)}")
        return result

    waiting = [part for part in parts if part.only_waits_after]
    measuring = [part for part in parts if part.measures]
    checking = [part for part in parts if part not in (*waiting, *measuring)]
    for part in parts:
        _log(part).unlink(missing_ok=True)
    with ThreadPoolExecutor() as beside, ThreadPoolExecutor(_STREAMS) as pool:
        found: dict[str, Future[Result]] = {}
        for part in waiting:
            found[part.name] = beside.submit(run, part)
            _await_quiet(part, found[part.name])
        found |= {part.name: pool.submit(run, part) for part in checking}
        wait(found[part.name] for part in checking)
        for part in measuring:
            found[part.name] = pool.submit(run, part)
            wait([found[part.name]])
        return [found[part.name].result() for part in parts]


def _log(part: Part) -> Path:
    return LOGS / f"{part.name}.log"


def _await_quiet(part: Part, result: Future[Result]) -> None:
    """Block until a part has ended, or only waits."""
    log = _log(part)
    while not result.done():
        if (
            part.only_waits_after
            and log.exists()
            and part.only_waits_after in log.read_text(errors="replace")
        ):
            return
        time.sleep(_LOOK_SECONDS)


def _outcome(result: Result) -> str:
    if result.status:
        return f"FAILED (exit status {result.status}), see {_log(result.part)}"
    return f"proven in {result.seconds / 60:.1f} min"


def _table(results: Sequence[Result]) -> Table:
    table = Table("part", "what was proven", "figures", "minutes", "result", title="make proof")
    for result in results:
        minutes = f"{result.seconds / 60:.1f}"
        outcome = "FAILED" if result.status else "proven"
        table.add_row(result.part.name, result.part.proves, result.figures, minutes, outcome)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
