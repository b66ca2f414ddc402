"""The pure parts of measurements within CPU limits."""

from pathlib import Path

import pytest

from scripts.experiments.capacity.__main__ import numbers, search_range
from scripts.experiments.capacity.cpu_limit import Group, own_group, placement
from scripts.experiments.capacity.measure import OTHER, Setting, by_part, joined, measured, more_pipes
from scripts.experiments.capacity.model import BROKERS, COLLECT, JVM, PYTHON
from scripts.experiments.capacity.points import OUTSIDE, read_facts, with_points
from scripts.experiments.harness.output import write_json
from scripts.experiments.harness.percentiles import quantiles
from scripts.experiments.harness.rating import Rating, SearchPlan
from scripts.experiments.harness.runs import Load, Run, Sent
from scripts.experiments.harness.search import Length, SearchRange, Trial
from scripts.local.processes.profile import SideProfile
from shared.contracts.documents import Destination, Pipe
from shared.runtime.errors import UsageError


def test_a_side_gets_the_first_cores_and_the_load_the_others() -> None:
    found = placement(2, [0, 1, 2, 3])
    assert (found.inside, found.outside, found.quota) == (frozenset({0, 1}), frozenset({2, 3}), None)
    assert not found.load_inside


def test_without_other_cores_the_load_shares_them() -> None:
    assert placement(2, [4, 5]).load_inside


def test_a_part_of_a_core_is_a_quota_on_the_next_whole_number() -> None:
    found = placement(1.5, [0, 1, 2])
    assert (found.inside, found.quota) == (frozenset({0, 1}), 1.5)


@pytest.mark.parametrize(("cores", "said"), [(0, "above 0"), (3, "this process may use 2; use at most 2")])
def test_impossible_cores_name_the_option(cores: float, said: str) -> None:
    with pytest.raises(UsageError, match=rf"--cores {cores:g}: .*{said}"):
        placement(cores, [0, 1])


def own(tmp_path: Path, controllers: str = "cpu memory") -> Path:
    group = tmp_path / "user" / "scope"
    group.mkdir(parents=True)
    (group / "cgroup.controllers").write_text(controllers)
    (tmp_path / "self").write_text("0::/user/scope\n")
    return group


def test_a_quota_is_set_in_a_group_below_ones_own(tmp_path: Path) -> None:
    group = own(tmp_path)
    assert own_group(tmp_path, tmp_path / "self") == group
    made = Group(group, 1.5)
    assert (group / "hifi-side" / "cpu.max").read_text() == "150000 100000"
    assert (group / "cgroup.subtree_control").read_text() == "+cpu"
    made.leave()
    assert (group / "hifi-load" / "cgroup.procs").exists()


def test_without_a_cgroup_a_part_of_a_core_names_option_and_fix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--cores: .*no cgroup v2; use whole numbers, or run .*systemd-run"):
        own_group(tmp_path, tmp_path / "self")
    with pytest.raises(UsageError, match="no cpu controller"):
        Group(own(tmp_path, "memory"), 1.5)


def run(rate: int, cpu: dict[str, float]) -> Run:
    return Run(
        load=Load(rate=rate, batch=100, seconds=60),
        sent=Sent(events=1_000_000, acked=1_000_000, seconds=60, slip_p99_ms=1),
        lag=quantiles([100.0]),
        delivered=1_000_000,
        waiting=0,
        lost=0,
        duplicated=0,
        cpu=cpu,
    )


def test_processes_are_summed_by_part() -> None:
    cpu = {
        "broker-1": 10.0, "broker-2": 11.0, "broker-3": 12.0, "collect": 25.0, "spark jvm": 80.0,
        "spark driver": 3.0, "spark python workers": 25.0, "load": 5.0, "destination": 4.0, "retry": 1.0,
        "supervisor": 0.5,
    }  # fmt: skip
    assert by_part(run(10_000, cpu)) == {
        BROKERS: 33.0, COLLECT: 25.0, JVM: 83.0, PYTHON: 25.0, OUTSIDE: 9.0, OTHER: 1.5
    }  # fmt: skip


def test_measured_points_are_read_beside_the_known_ones(tmp_path: Path) -> None:
    plan = SearchPlan(
        bounds=SearchRange(step=1_000, start=4_000),
        batch=100,
        probe_seconds=1,
        hold_seconds=1,
        search_seconds=1,
    )
    setting = Setting(
        cores=1,
        placed=placement(1, [0, 1]),
        partitions=2,
        pipes=3,
        warm_up=Load(rate=1, batch=1, seconds=1),
        search=plan,
        parts=SideProfile.CHAIN,
    )
    found = Rating(
        rate=4_000,
        trials=[Trial(4_000, Length.HOLD, held=True), Trial(5_000, Length.PROBE, held=False)],
        runs=[run(4_000, {"collect": 25.0}), run(5_000, {"collect": 30.0})],
        complaints=["", "p95 2000 ms"],
    )
    path = tmp_path / "points.json"
    write_json(path, joined([measured(setting, found, "2026-11-26, a test")]))
    facts = read_facts()
    more = with_points(facts, [path])
    assert [(each.held, each.partitions, each.pipes) for each in more.points[len(facts.points) :]] == [
        (True, 2, 3),
        (False, 2, 3),
    ]
    assert (more.ratings[-1].rate, more.ratings[-1].load_inside) == (4_000, False)


def test_a_file_with_a_wrong_field_is_named_with_the_field(tmp_path: Path) -> None:
    path = tmp_path / "points.json"
    path.write_text('{"points": [{"source": "here", "cores": "two"}]}')
    with pytest.raises(UsageError, match=rf"{path} cannot be used: .*points\[0\]\.cores"):
        with_points(read_facts(), [path])
    with pytest.raises(UsageError, match="cannot be read"):
        read_facts(tmp_path / "none.json")
    with pytest.raises(UsageError, match=r"figures\.none is missing"):
        read_facts().figure("none")


def test_more_pipes_lead_to_a_destination_of_their_own() -> None:
    found = more_pipes("http://127.0.0.1:1/bench", 3)
    (target,) = (each for each in found if isinstance(each, Destination))
    pipes = [each for each in found if isinstance(each, Pipe)]
    assert len({pipe.name for pipe in pipes}) == 3
    assert {pipe.destination for pipe in pipes} == {target.name}


def test_numbers_of_an_option() -> None:
    assert numbers("--cores", "1,1.5,2", float) == [1, 1.5, 2]


@pytest.mark.parametrize("text", ["", "1,,2", "two", "0", "-1", "nan", "inf"])
def test_a_wrong_number_names_its_option(text: str) -> None:
    with pytest.raises(UsageError, match=r"--cores: .*is not a number above 0; separate"):
        numbers("--cores", text, float)


def test_a_range_that_cannot_be_searched_names_its_options() -> None:
    with pytest.raises(UsageError, match="--step 3, --start 4, --highest 8: "):
        search_range(3, 4, 8)
