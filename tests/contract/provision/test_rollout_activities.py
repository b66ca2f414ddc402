"""A rollout's step up and a release never run together, whichever begins first.

Over DynamoDB Local alone: deciding needs no brokers.
"""

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.rollouts import RolloutPhase
from shared.dynamodb.activity_register import Waits
from shared.dynamodb.document_table import DocumentTable
from tests.contract.provision.conftest import TABLE
from tests.contract.provision.rollout_rig import LEASE, SIDES, WORKED_ON, Rig, begun


def test_while_a_step_is_written_both_sides_registers_name_it_and_afterwards_they_are_empty(rig: Rig) -> None:
    process, seen = begun(rig), list[str]()
    process.store.before = lambda: seen.extend(rig.acting())
    process.turn()
    assert seen == [f"provisioner: ramp step (pipe {rig.tenant}/p0 to 10 %)"] * 2
    assert (rig.acting(), rig.waiting(), rig.shares()) == ([], [], [10])


def test_many_steps_of_a_look_are_one_activity_a_side(endpoint: str, table: DocumentTable) -> None:
    rig = Rig(endpoint, TABLE, pipes=3)
    process, seen = begun(rig), list[list[str]]()
    process.store.before = lambda: seen.append(rig.acting())
    process.turn()
    assert seen == [[f"provisioner: ramp step (3 pipes, the first is {rig.tenant}/p0 to 10 %)"] * 2] * 3
    assert rig.shares() == [10] * 3
    assert all(rig.registers[side].look().serial == 1 for side in SIDES)


def test_a_step_waits_for_a_release_that_began_first_says_so_and_leaves_no_wish(rig: Rig) -> None:
    process = begun(rig)
    release = rig.begins("green")
    assert isinstance(release, Activity)
    process.turn()
    assert (rig.state().state, rig.state().share) == (RolloutPhase.WAITING, 1)
    assert rig.state().reason == f"{WORKED_ON}; 2,000 events, 100 % good, 0 % dead letters"
    assert rig.acting() == ["deployer: step forward (release 1.4.0)"], "nothing is kept of the other side"
    assert rig.waiting() == []
    both = rig.begins("blue")
    assert isinstance(both, Activity), "a release takes the other side while a step waits"
    rig.registers["blue"].end(both)
    rig.registers["green"].end(release)
    process.turn()
    assert (rig.shares(), rig.acting()) == ([10], [])


def test_a_release_that_begins_while_a_step_is_written_waits_until_it_is_over(rig: Rig) -> None:
    process, found = begun(rig), list[Activity | Waits]()
    process.store.before = lambda: found.extend(rig.begins(side) for side in SIDES)
    process.turn()
    waits = Waits((f"provisioner: ramp step (pipe {rig.tenant}/p0 to 10 %) is under way",))
    assert (found, rig.shares()) == ([waits, waits], [10])
    assert all(isinstance(rig.begins(side), Activity) for side in SIDES)


def test_a_step_lets_a_release_go_first_that_had_to_wait_for_another(rig: Rig) -> None:
    process, found = begun(rig), list[Activity | Waits]()
    process.store.before = lambda: found.extend(rig.begins(side) for side in SIDES)
    process.turn()
    rig.due()
    process.store.before = lambda: None
    process.turn()
    assert rig.shares() == [10], "the deployer has asked earlier"
    for side in SIDES:
        release = rig.begins(side)
        assert isinstance(release, Activity)
        rig.registers[side].end(release)
    process.turn()
    assert rig.shares() == [100]


def test_a_step_back_waits_for_nothing_and_is_no_activity(rig: Rig) -> None:
    process = begun(rig)
    assert all(isinstance(rig.begins(side), Activity) for side in SIDES)
    rig.due(good=0)
    process.turn()
    assert (rig.state().state, rig.state().share) == (RolloutPhase.STOPPED, 0)


def test_a_rollback_begins_while_a_step_is_written(rig: Rig) -> None:
    process, found = begun(rig), list[Activity | Waits]()
    process.store.before = lambda: found.append(rig.begins("green", Action.STEP_BACK))
    process.turn()
    (back,) = found
    assert isinstance(back, Activity)
    assert rig.shares() == [10], "what had begun is written"


def test_steps_that_take_long_to_write_are_kept_alive(rig: Rig) -> None:
    process, found = begun(rig), list[Activity | Waits]()

    def slowly() -> None:
        for _ in range(4):
            found.append(rig.begins("green"))
            rig.seconds += 0.9 * LEASE
            process.steps.beat()

    process.store.before = slowly
    process.turn()
    assert [type(each) for each in found] == [Waits] * 4
    assert (rig.shares(), rig.acting()) == ([10], [])
