"""`python -m scripts.experiments.overhead`: the cost of audit, observe and the rest of the meter.

Two warm sides run beside each other, one with the meter and one without. The same load goes to one and the
other in turns (with, without, without, with, ...), so that a slow minute affects both. The first load of each
does not count. At the end the idle usage of each is measured.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import msgspec
import typer
from msgspec import Struct

from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.cpu import Seconds
from scripts.experiments.harness.measure import Bench, destination_port, destination_url
from scripts.experiments.harness.output import report, say, writable, write_json
from scripts.experiments.harness.pairs import in_turns, ratios_text
from scripts.experiments.harness.percentiles import spread
from scripts.experiments.harness.runs import Load, Run, chain_cpu
from scripts.experiments.harness.side import hifi
from scripts.local.ports import free_base
from scripts.local.processes.profile import SideProfile
from scripts.local.side import Side
from scripts.terminal import run_command

_COLD_SECONDS: Final = 40.0
_IDLE_SECONDS: Final = 60.0
_MOST_CPU: Final = 1.25
_MOST_P95: Final = 1.10
_SHOWN_PERCENT: Final = 0.5
"""Idle processes below this share of a core appear in the sum only."""

_SIDES: Final = {"with": SideProfile.ALL, "without": SideProfile.CHAIN}
APP = typer.Typer(add_completion=False)


class OverheadPair(Struct, frozen=True, kw_only=True):
    """Runs of the same load with and without the meter."""

    metered: Run
    plain: Run

    @property
    def cpu(self) -> float:
        """Ratio of CPU seconds per event with the meter to those without."""
        return _cost(self.metered) / _cost(self.plain)

    @property
    def p95(self) -> float | None:
        """Ratio of p95 with the meter to that without; None if a run delivered nothing."""
        with_meter, without = self.metered.lag, self.plain.lag
        return with_meter.p95 / without.p95 if with_meter and without else None


@APP.command()
def cost(
    rate: Annotated[int, typer.Option(min=1, help="Events per second.")] = 3_000,
    batch: Annotated[int, typer.Option(min=1, help="Events per request to collect.")] = 100,
    seconds: Annotated[float, typer.Option(min=5, help="Seconds of each load.")] = 60.0,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of loads, with and without the meter.")] = 6,
    out: Annotated[Path, typer.Option(callback=writable, help="JSON file of all figures.")] = Path(
        "metering.json"
    ),
) -> None:
    """Measure the chain's CPU seconds per million events and p95, with and without the meter.

    Exit status 1 if the meter adds more than 25 % of CPU time or 10 % of p95, or if an event was lost.
    """
    load = Load(rate=rate, batch=batch, seconds=seconds)
    found: list[OverheadPair] = []
    with _benches() as benches:
        for bench in benches.values():
            bench.run(msgspec.structs.replace(load, seconds=_COLD_SECONDS))
        metered, plain = (lambda _, name=name: benches[name].run(load) for name in ("with", "without"))
        for pair in in_turns(pairs, metered, plain):
            found.append(OverheadPair(metered=pair[0], plain=pair[1]))
            say(_line(found[-1]))
            write_json(out, found)
        typer.echo(_summary(found))
        for name in ("without", "with"):
            typer.echo(_idle_line(name, benches[name].idle(_IDLE_SECONDS)))
    report(bounds(found))


def bounds(pairs: Sequence[OverheadPair]) -> list[Bound]:
    """Bounds on the meter's cost, in the median of the pairs."""
    cpu, p95 = spread(pair.cpu for pair in pairs), spread(pair.p95 for pair in pairs if pair.p95 is not None)
    lost = sum(run.lost for pair in pairs for run in (pair.metered, pair.plain))
    unit = "times that without"
    return [
        Bound(what="lost", figure=lost, most=0, unit="events"),
        Bound(what="CPU with the meter", figure=cpu.median if cpu else None, most=_MOST_CPU, unit=unit),
        Bound(what="p95 with the meter", figure=p95.median if p95 else None, most=_MOST_P95, unit=unit),
    ]


@contextmanager
def _benches() -> Iterator[dict[str, Bench]]:
    with TemporaryDirectory(prefix="hifi-cost-") as folder, ExitStack() as stack:
        benches = {}
        for name, profile in _SIDES.items():
            port = destination_port()
            # The second side is described once the first has taken its ports.
            side = Side(root=Path(folder, name), port=free_base())
            chain = stack.enter_context(hifi(side, destination_url(port), profile))
            benches[name] = Bench(chain, port)
        yield benches


def _line(pair: OverheadPair) -> str:
    return (
        f"CPU {_cost(pair.plain):.0f} -> {_cost(pair.metered):.0f} s per million events (x{pair.cpu:.2f}), "
        f"p95 {_p95(pair.plain)} -> {_p95(pair.metered)}; "
        f"lost {pair.plain.lost} and {pair.metered.lost}, doubled {pair.plain.duplicated} and "
        f"{pair.metered.duplicated}"
    )


def _summary(pairs: Sequence[OverheadPair]) -> str:
    cpu = [pair.cpu for pair in pairs]
    p95 = [pair.p95 for pair in pairs if pair.p95 is not None]
    return f"CPU: {ratios_text(cpu)}\np95: {ratios_text(p95)}"


def _idle_line(name: str, percents: Seconds) -> str:
    largest = sorted(percents.items(), key=lambda each: -each[1])
    shown = ", ".join(f"{role} {used:.1f}" for role, used in largest if used >= _SHOWN_PERCENT)
    return f"idle {name} the meter: {sum(percents.values()):.0f} % of a core ({shown})"


def _cost(run: Run) -> float:
    return chain_cpu(run.cpu_per_million)


def _p95(run: Run) -> str:
    return f"{run.lag.p95:.0f} ms" if run.lag else "nothing"


if __name__ == "__main__":
    run_command(APP)
