"""An experiment fails if a figure is beyond its bound, and names figure, bound and unit."""

from pathlib import Path

import pytest

from scripts.experiments.bench.results import ChainFigures, LoadResults, bounds
from scripts.experiments.harness.bounds import Bound, BrokenBoundError, check
from scripts.experiments.harness.output import OutputError, report, writable, write_json
from scripts.experiments.harness.pairs import in_turns, ratios_text
from scripts.experiments.harness.percentiles import Quantiles
from scripts.experiments.harness.runs import Load, Run, Sent
from scripts.experiments.noisy_neighbour.bounds import lag_bounds, leak_bounds
from scripts.experiments.noisy_neighbour.measure import IsolationPhase as NeighbourPhase
from scripts.experiments.noisy_neighbour.resource_usage import ResourceUsage
from scripts.experiments.outage import outage, retry_cost
from scripts.experiments.overhead import __main__ as overhead
from scripts.load.verify import DeliveryCheck

LOAD = Load(rate=1_000, batch=1, seconds=1)


def bound(figure: float | None, most: float = 10.0) -> Bound:
    return Bound(what="lag", figure=figure, most=most, unit="ms")


def lag(p95: float) -> Quantiles:
    return Quantiles(count=1, p50=p95, p95=p95, p99=p95, highest=p95)


def run(*, p95: float | None = 100.0, lost: int = 0, cpu: float = 1.0) -> Run:
    sent = Sent(events=1_000, acked=1_000, seconds=1.0, slip_p99_ms=0.0)
    return Run(
        load=LOAD,
        sent=sent,
        lag=None if p95 is None else lag(p95),
        delivered=1_000,
        waiting=0,
        lost=lost,
        duplicated=0,
        cpu={"collect": cpu},
    )


def test_a_figure_at_its_target_is_within_it_and_none_is_not() -> None:
    assert [bound(figure).kept for figure in (9.9, 10.0, 10.1, None)] == [True, True, False, False]


def test_a_broken_bound_fails_with_figure_target_and_unit() -> None:
    check([bound(10.0)])
    with pytest.raises(BrokenBoundError, match=r"lag: 12 ms, target at most 10 ms") as caught:
        check([bound(1.0), bound(12.0)])
    assert caught.value.status == 1


def test_every_bound_is_printed_before_the_first_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BrokenBoundError, match="nothing measured"):
        report([bound(None), bound(1.0)])
    assert capsys.readouterr().out.splitlines() == [
        "lag: nothing measured, target at most 10 ms: BROKEN",
        "lag: 1 ms, target at most 10 ms: kept",
    ]


def test_pairs_begin_in_turns_and_keep_which_is_which() -> None:
    measured: list[str] = []

    def measure(name: str, number: int) -> str:
        measured.append(name)
        return f"{name}{number}"

    pairs = list(in_turns(3, lambda number: measure("a", number), lambda number: measure("b", number)))
    assert pairs == [("a0", "b0"), ("a1", "b1"), ("a2", "b2")]
    assert measured == ["a", "b", "b", "a", "a", "b"]


def test_ratios_are_printed_with_median_and_spread() -> None:
    assert ratios_text([1.5, 0.5, 1.0]) == "x1.00 in the median of 3 pairs (x0.50 to x1.50)"
    assert ratios_text([]) == "nothing to compare"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=f"{tmp_path} cannot be written: Is a directory"):
        write_json(tmp_path, [])


def test_a_file_is_checked_without_a_trace_and_without_a_loss(tmp_path: Path) -> None:
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    old.write_text("figures")
    assert (writable(new), writable(old), writable(None)) == (new, old, None)
    assert not new.exists()
    assert old.read_text() == "figures"
    with pytest.raises(OutputError, match="name another file"):
        writable(tmp_path / "no folder" / "x.json")


def broken(bounds: list[Bound]) -> list[str]:
    return [each.what for each in bounds if not each.kept]


def test_the_bench_fails_on_a_loss_or_a_late_load() -> None:
    def target(*runs: Run) -> ChainFigures:
        return ChainFigures(name="hifi", phases=[LoadResults(load=LOAD, runs=list(runs))])

    late = "p95 at 1,000/s, single events"
    assert broken(bounds(target(run()), 1_000)) == []
    assert broken(bounds(target(run(), run(lost=1)), 1_000)) == ["lost by hifi"]
    assert broken(bounds(target(run(p95=1_001)), 1_000)) == [late]
    assert broken(bounds(target(run(p95=None)), 1_000)) == [late]
    assert broken(bounds(target(run(p95=1_001)), None)) == []


def test_overhead_fails_when_the_median_pair_costs_too_much() -> None:
    def pair(cpu: float, p95: float | None = 100.0, lost: int = 0) -> overhead.OverheadPair:
        return overhead.OverheadPair(metered=run(cpu=cpu, p95=p95, lost=lost), plain=run())

    assert broken(overhead.bounds([pair(1.25, 110.0), pair(1.2), pair(9.0, 900.0)])) == []
    assert broken(overhead.bounds([pair(1.26), pair(1.3), pair(1.0)])) == ["CPU with the meter"]
    assert broken(overhead.bounds([pair(1.0, 111.0)])) == ["p95 with the meter"]
    assert broken(overhead.bounds([pair(1.0, None, lost=1)])) == ["lost", "p95 with the meter"]


def neighbours(p95: float, *, missing: int = 0, last: int = 100) -> NeighbourPhase:
    def held(count: int) -> ResourceUsage:
        return ResourceUsage(threads=count, connections=count, files=count, megabytes=count)

    return NeighbourPhase(
        lag=lag(p95),
        acked=1,
        missing=missing,
        doubled=0,
        moved=0,
        bad_results={},
        held_first=held(100),
        held_last=held(last),
    )


def test_noisy_neighbours_fail_when_the_good_ones_are_late_or_miss_an_event() -> None:
    assert broken(lag_bounds([neighbours(100), neighbours(125)])) == []
    assert len(broken(lag_bounds([neighbours(100), neighbours(126)]))) == 1
    assert len(broken(lag_bounds([neighbours(100), neighbours(100, missing=1)]))) == 1


def test_a_leak_fails_when_more_is_held_at_last() -> None:
    assert broken(leak_bounds(neighbours(1, last=125))) == []
    assert broken(leak_bounds(neighbours(1, last=126))) == [
        f"{name} in the last quarter" for name in ("threads", "connections", "files", "megabytes")
    ]


def outage_found(before: float, down: float | None, lost: tuple[str, ...] = ()) -> outage.OutageResult:
    fate = DeliveryCheck(acked=1, received=1, waiting=0, lost=lost, duplicated=0)
    return outage.OutageResult(
        plan=outage.OutagePlan(),
        fates={"trial-1": fate},
        lags={"before": lag(before), "down": None if down is None else lag(down), "after": None},
        drain=outage.Drain(events=0, seconds=0, most_a_second=0, median_a_second=0),
        handed_on={},
    )


def test_an_outage_fails_on_a_loss_or_when_the_others_are_late() -> None:
    late = "p95 of the others while one is down"
    assert broken(outage.bounds(outage_found(100, 400))) == []
    assert broken(outage.bounds(outage_found(100, 401))) == [late]
    assert broken(outage.bounds(outage_found(100, None))) == [late]
    assert broken(outage.bounds(outage_found(100, 100, lost=("e1",)))) == ["lost"]


def test_retry_cost_fails_on_a_loss_or_a_higher_p95() -> None:
    def found(delayed: float, lost: int = 0) -> retry_cost.RetryCostResult:
        well = retry_cost.RetryRun(later=0.0, lag=lag(100), lost=0)
        pair = retry_cost.RetryPair(
            well=well, delayed=retry_cost.RetryRun(later=0.01, lag=lag(delayed), lost=lost)
        )
        return retry_cost.RetryCostResult(plan=retry_cost.RetryCostPlan(), pairs=[pair], ratio=pair.ratio)

    assert broken(retry_cost.bounds(found(125))) == []
    assert len(broken(retry_cost.bounds(found(126)))) == 1
    assert broken(retry_cost.bounds(found(100, lost=1))) == ["lost"]
