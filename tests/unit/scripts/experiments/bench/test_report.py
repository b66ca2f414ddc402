import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.experiments.bench.machine import Machine
from scripts.experiments.bench.plan import BenchPlan, quick
from scripts.experiments.bench.report import markdown, ratio_rows
from scripts.experiments.bench.results import ChainFigures, LoadResults, Report, bounds
from scripts.experiments.harness.http_client import complete
from scripts.experiments.harness.percentiles import Quantiles
from scripts.experiments.harness.rating import Rating, complaint
from scripts.experiments.harness.reconciliation import reconcile
from scripts.experiments.harness.runs import Load, Run, Sent
from scripts.experiments.harness.search import Length, Trial
from scripts.load.records import Acked, Received
from scripts.local.processes.profile import SideProfile

LOAD = Load(rate=1_000, batch=100, seconds=10)
MACHINE = Machine(
    cores=2,
    cpu="c",
    memory_gib=24.0,
    system="Linux",
    python="3",
    java="17",
    kafka="4",
    spark="4",
    librdkafka="2",
)


def a_run(p95: float = 100.0, cpu: float = 1.0, **changes: object) -> Run:
    lag = Quantiles(count=10_000, p50=p95 / 2, p95=p95, p99=p95 * 2, highest=p95 * 3)
    sent = Sent(events=10_000, acked=10_000, seconds=10.0, slip_p99_ms=1.0)
    run = Run(
        load=LOAD,
        sent=sent,
        lag=lag,
        delivered=10_000,
        waiting=0,
        lost=0,
        duplicated=0,
        cpu={"collect": cpu, "route": cpu, "load": 50.0},
    )
    return msgspec.structs.replace(run, **changes)


def a_report() -> Report:
    trials = [Trial(1_000, Length.PROBE, held=True), Trial(1_000, Length.HOLD, held=True)]
    rating = Rating(rate=1_000, trials=trials, runs=[a_run(), a_run()], complaints=["", ""])
    ours = ChainFigures(name="hifi", ready_seconds=30.0, idle={"collect": 2.0}, first_minute=a_run())
    ours.phases, ours.rating = (
        [LoadResults(load=LOAD, runs=[a_run(90.0), a_run(100.0), a_run(300.0)])],
        rating,
    )
    theirs = ChainFigures(name="yardstick", ready_seconds=9.0, idle={"collect": 2.0}, first_minute=a_run())
    theirs.phases = [LoadResults(load=LOAD, runs=[a_run(50.0, cpu=0.5)])]
    return Report(
        started="2026-01-31T12:00:00+00:00", machine=MACHINE, parts=SideProfile.CHAIN, targets=[ours, theirs]
    )


def test_a_clean_run_is_held_and_each_fault_is_named() -> None:
    assert complaint(a_run()) == ""
    assert "lost" in complaint(a_run(lost=1))
    assert "p95" in complaint(a_run(p95=1_001.0))
    assert "nothing" in complaint(a_run(lag=None))
    assert "wait" in complaint(a_run(waiting=500))
    late = Sent(events=10_000, acked=10_000, seconds=10.0, slip_p99_ms=900.0)
    assert "generator" in complaint(a_run(sent=late))
    refused = Sent(events=10_000, acked=9_000, seconds=10.0, slip_p99_ms=0.0, refused={"503": 1_000})
    assert "acknowledged" in complaint(a_run(sent=refused))


def judged(run: Run, p95_ms: float | None = 1_000.0) -> list[str]:
    """Figures beyond their bounds in a chain's three runs, of which the second was clean."""
    target = ChainFigures(name="hifi", phases=[LoadResults(load=LOAD, runs=[run, a_run(), run])])
    return [each.what.removesuffix(f" at {LOAD.label}") for each in bounds(target, p95_ms) if not each.kept]


REFUSED = Sent(events=10_000, acked=9_800, seconds=10.0, slip_p99_ms=0.0, refused={"503": 200})
LATE = Sent(events=10_000, acked=10_000, seconds=10.0, slip_p99_ms=900.0)


@pytest.mark.parametrize(
    ("changes", "beyond", "beyond_quick"),
    [
        ({}, [], []),
        ({"lost": 1}, ["lost by hifi"], ["lost by hifi"]),
        ({"sent": REFUSED}, ["not acknowledged"], ["not acknowledged"]),
        ({"waiting": 200}, ["waiting for a retry"], ["waiting for a retry"]),
        ({"sent": LATE}, ["p99 of the generator's lateness"], []),
        ({"p95": 1_001.0}, ["p95"], []),
        ({"lag": None}, [], []),
    ],
)
def test_a_bench_fails_by_each_fault_of_a_planned_load(
    changes: dict[str, object], beyond: list[str], beyond_quick: list[str]
) -> None:
    run = a_run(**changes)  # type: ignore[arg-type]
    assert judged(run) == beyond
    assert judged(run, None) == beyond_quick


def test_a_bench_of_which_nothing_was_acknowledged_fails() -> None:
    refused = Sent(events=10_000, acked=0, seconds=10.0, slip_p99_ms=0.0, refused={"503": 10_000})
    nothing = a_run(sent=refused, lag=None, delivered=0)
    target = ChainFigures(name="hifi", phases=[LoadResults(load=LOAD, runs=[nothing])])
    assert [each.what for each in bounds(target, None) if not each.kept] == [
        f"not acknowledged at {LOAD.label}",
        f"waiting for a retry at {LOAD.label}",
    ]


def test_the_markdown_names_median_spread_ratio_and_rating() -> None:
    text = markdown(a_report())
    assert "100 (90 to 300)" in text
    assert "rating 1,000 events/s" in text
    assert "- hifi: without the meter" in text
    assert "| 1,000/s, batches of 100 | 2.0x | 2.0x | 2.0x | 2.0x | 2.0x |" in text
    assert len({line.count("|") for line in text.splitlines() if line.startswith("| process")}) == 1


def test_generator_and_destination_are_not_charged_to_the_chain() -> None:
    _, rows = ratio_rows(a_report().targets)
    assert rows[0][-1] == "2.0x"


def test_the_json_reads_back_as_it_was_written() -> None:
    report = a_report()
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report


def test_a_quick_plan_is_far_shorter_than_the_real_one() -> None:
    assert quick().longest() < 180 < BenchPlan().longest() < 3_600


ids = st.lists(st.integers(0, 20).map(str))


@given(ids, ids, st.sets(st.integers(0, 20).map(str)))
def test_every_acknowledged_event_is_delivered_waiting_or_lost(
    acked: list[str], arrived: list[str], visible: set[str]
) -> None:
    found = reconcile([Acked(i, 1) for i in acked], [Received(i, 2, 5) for i in arrived], lambda: visible)
    promised = set(acked)
    assert found.delivered + found.waiting + found.lost == len(promised)
    assert found.lost == len(promised - set(arrived) - visible)
    assert found.duplicated == sum(i in promised for i in arrived) - found.delivered


@given(st.integers(0, 40), st.integers(0, 200))
def test_an_answer_is_complete_exactly_when_all_its_bytes_are_there(length: int, cut: int) -> None:
    whole = b"HTTP/1.1 202 Accepted\r\nContent-Length: %d\r\nx: y\r\n\r\n" % length + b"b" * length
    assert complete(whole[:cut]) == (202 if cut >= len(whole) else None)
