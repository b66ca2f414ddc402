"""Properties of an alarm's lifecycle, over any sequence of evaluations."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.alarms.inputs import Evaluation, Finding, TransitionKind
from pipelines.control.observe.alarms.lifecycle import (
    MOST_RELAPSES,
    AlarmState,
    AlarmTiming,
    Transition,
    step,
)
from pipelines.control.observe.alarms.outbox import notifications
from pipelines.control.observe.alarms.quiet_windows import WindowError, validated
from shared.contracts.alarms import AlarmKind, QuietWindow

PACE = AlarmTiming(hold_ms=60_000, relapse_ms=600_000, update_ms=300_000)
LOOK_MS = 10_000
LONGEST_HOLD = PACE.hold_ms * 2**MOST_RELAPSES


def finding(kind: AlarmKind = AlarmKind.STALLED, text: str = "is bad", subject: str = "route") -> Finding:
    return Finding(kind=kind, subject=subject, text=text)


@dataclass
class Life:
    """Consecutive evaluations."""

    now: int = 1_000_000
    windows: list[QuietWindow] = field(default_factory=list)
    tracked: dict[str, AlarmState] = field(default_factory=dict)
    told: list[tuple[int, Transition]] = field(default_factory=list)

    def look(self, *findings: Finding, unknown: Iterable[AlarmKind] = ()) -> list[TransitionKind]:
        """Run one evaluation and its notifications; the state passes through its stored form."""
        self.now += LOOK_MS
        evaluation = Evaluation(findings=findings, unknown=frozenset(unknown))
        after, transitions = step(self.tracked, evaluation, self.windows, PACE, self.now)
        self.tracked = {key: AlarmState.decode(each.encode()) for key, each in after.items()}
        self.told += [(self.now, transition) for transition in transitions]
        return [transition.change for transition in transitions]

    def looks(self, milliseconds: int, *findings: Finding) -> list[TransitionKind]:
        return [change for _ in range(milliseconds // LOOK_MS) for change in self.look(*findings)]

    def quiet(self, milliseconds: int, **given: object) -> None:
        window = QuietWindow(
            from_ms=self.now,
            until_ms=self.now + milliseconds,
            reason="deployment",
            **given,  # type: ignore[arg-type]
        )
        self.windows.append(validated(window, self.now))

    @property
    def open(self) -> list[AlarmState]:
        return [each for each in self.tracked.values() if each.open]


def test_an_alarm_opens_once_and_is_resolved_when_its_condition_was_absent_long_enough() -> None:
    life = Life()
    assert life.looks(60_000, finding()) == [TransitionKind.OPENED]
    assert life.looks(PACE.hold_ms) == []
    assert life.look() == [TransitionKind.RESOLVED]
    assert life.looks(600_000) == []
    opened, resolved = (transition.alarm for _, transition in life.told)
    assert opened.id == resolved.id
    assert resolved.resolved_ms == life.told[1][0]


def test_a_text_that_changes_at_every_evaluation_is_sent_at_the_set_interval() -> None:
    life = Life()
    for at in range(90):
        life.look(finding(text=f"is bad for {at} s"))
    assert [transition.change for _, transition in life.told] == [
        TransitionKind.OPENED,
        TransitionKind.UPDATED,
        TransitionKind.UPDATED,
    ]
    assert life.open[0].alarm.text == "is bad for 89 s"
    assert life.told[-1][1].alarm.updates == 2


def test_a_condition_that_comes_and_goes_within_the_hold_time_is_one_alarm() -> None:
    life = Life()
    for _ in range(30):
        life.looks(20_000, finding())
        life.looks(40_000)
    assert [transition.change for _, transition in life.told] == [TransitionKind.OPENED]


def test_each_relapse_holds_the_alarm_open_for_longer() -> None:
    """Off for two minutes, on for one evaluation: notified ever less often, not thirty times an hour."""
    life = Life()
    for _ in range(60):
        life.look(finding())
        life.looks(110_000)
    assert len({transition.alarm.id for _, transition in life.told}) == 1
    assert len(life.told) <= 2 + 2 * MOST_RELAPSES


def test_a_condition_that_comes_back_much_later_is_a_new_alarm() -> None:
    life = Life()
    life.look(finding())
    life.looks(PACE.hold_ms + PACE.relapse_ms + 60_000)
    life.look(finding())
    opened = [transition.alarm for _, transition in life.told if transition.change == TransitionKind.OPENED]
    assert len({alarm.id for alarm in opened}) == 2
    assert len(life.open) == 1


def test_an_alarm_is_not_resolved_while_the_meter_is_behind() -> None:
    life = Life()
    life.look(finding(AlarmKind.LOSS))
    for _ in range(100):
        assert life.look(unknown=[AlarmKind.LOSS]) == []
    assert len(life.open) == 1


def test_a_silenced_alarm_is_kept_with_the_reason_and_sent_when_the_window_ends() -> None:
    life = Life()
    life.quiet(120_000)
    assert life.looks(110_000, finding()) == []
    assert [each.alarm.quiet for each in life.open] == ["deployment"]
    assert life.looks(60_000, finding()) == [TransitionKind.OPENED]
    assert life.open[0].alarm.quiet == ""
    assert life.told[0][1].alarm.opened_ms < life.told[0][0] - 100_000


def test_an_alarm_that_opens_and_ends_within_a_window_is_not_sent() -> None:
    life = Life()
    life.quiet(600_000)
    life.look(finding())
    assert life.looks(900_000) == []
    (kept,) = life.tracked.values()
    assert not kept.open


def test_whoever_knows_of_an_alarm_learns_after_the_window_that_it_is_over() -> None:
    life = Life()
    life.look(finding())
    life.quiet(300_000)
    assert life.looks(290_000) == []
    assert life.open == []
    assert life.looks(60_000) == [TransitionKind.RESOLVED]


@pytest.mark.parametrize(
    ("window", "kind", "quiet"),
    [
        ({}, AlarmKind.STALLED, True),
        ({}, AlarmKind.LOSS, False),
        ({"kinds": [AlarmKind.LOSS]}, AlarmKind.LOSS, True),
        ({"kinds": [AlarmKind.LOSS]}, AlarmKind.STALLED, False),
        ({"tenant": "shop"}, AlarmKind.STALLED, False),
    ],
)
def test_a_window_covers_what_it_names_and_proven_loss_only_by_name(
    window: dict[str, object], kind: AlarmKind, quiet: bool
) -> None:
    life = Life()
    life.quiet(60_000, **window)
    assert life.look(finding(kind)) == ([] if quiet else [TransitionKind.OPENED])


@pytest.mark.parametrize(
    ("wrong", "field_name"),
    [
        ({"reason": " "}, "reason"),
        ({"reason": "x" * 301}, "reason"),
        ({"until_ms": 10}, "until_ms"),
        ({"until_ms": 40 * 86_400_000}, "until_ms"),
        ({"from_ms": 1_800_000_000_000_000, "until_ms": 1_800_001_800_000_000}, "until_ms"),
        ({"until_ms": 2**64}, "until_ms"),
        ({"from_ms": -1}, "from_ms"),
        ({"tenant": ""}, "tenant"),
    ],
)
def test_a_window_that_says_nothing_or_too_much_is_refused(wrong: dict[str, object], field_name: str) -> None:
    window = {"from_ms": 0, "until_ms": 60_000, "reason": "deployment"} | wrong
    with pytest.raises(WindowError) as caught:
        validated(QuietWindow(**window), 30_000)  # type: ignore[arg-type]
    assert caught.value.field == field_name


SUBJECTS = st.sampled_from(["ingest", "route", "transmit"])
KINDS = st.sampled_from([AlarmKind.STALLED, AlarmKind.LOSS])
LOOKS = st.lists(
    st.tuples(
        st.lists(
            st.tuples(
                SUBJECTS, st.sampled_from([AlarmKind.STALLED, AlarmKind.LOSS]), st.text("ab", max_size=2)
            ),
            max_size=4,
        ),
        st.integers(1, 30),
    ),
    max_size=12,
)
WINDOWS = st.lists(
    st.tuples(
        st.integers(0, 2_000_000),
        st.integers(1, 2_000_000),
        st.lists(KINDS, max_size=2),
    ),
    max_size=3,
)


def lived(looks: list[tuple[list[tuple[str, AlarmKind, str]], int]], life: Life) -> Life:
    for some, times in looks:
        for _ in range(times):
            findings = [finding(kind, text, subject) for subject, kind, text in some]
            life.look(*findings)
            ids = [each.alarm.id for each in life.open]
            assert len(ids) == len(set(ids)), "two open alarms of one id"
            assert {each.key for each in findings} <= {each.key for each in life.open}, "hidden"
    return life


def with_windows(windows: list[tuple[int, int, list[AlarmKind]]]) -> Life:
    return Life(
        windows=[
            QuietWindow(id=str(at), from_ms=start, until_ms=start + length, kinds=some, reason="r")
            for at, (start, length, some) in enumerate(windows)
        ]
    )


@given(LOOKS, WINDOWS)
def test_all_that_is_found_is_open_and_all_is_over_when_findings_stop(
    looks: list[tuple[list[tuple[str, AlarmKind, str]], int]], windows: list[tuple[int, int, list[AlarmKind]]]
) -> None:
    life = lived(looks, with_windows(windows))
    life.look()
    life.now = max([life.now, *(each.until_ms for each in life.windows)])
    for _ in range(3):
        life.now += LONGEST_HOLD
        life.look()
    assert life.open == []
    assert all(each.over for each in life.tracked.values())


@given(LOOKS, WINDOWS)
def test_each_alarm_is_sent_as_opened_updated_resolved_and_no_loss_is_silenced_by_chance(
    looks: list[tuple[list[tuple[str, AlarmKind, str]], int]], windows: list[tuple[int, int, list[AlarmKind]]]
) -> None:
    life = lived(looks, with_windows(windows))
    known: set[str] = set()
    for now, transition in life.told:
        alarm = transition.alarm
        assert (alarm.id in known) == (transition.change != TransitionKind.OPENED)
        known = known - {alarm.id} if transition.change == TransitionKind.RESOLVED else known | {alarm.id}
        named = [each for each in life.windows if alarm.kind in each.kinds or not each.kinds]
        covering = [each for each in named if each.from_ms <= now < each.until_ms]
        assert not [each for each in covering if each.kinds or alarm.kind != AlarmKind.LOSS]
    if not any(AlarmKind.LOSS in each.kinds for each in life.windows):
        losses = {each.alarm.id for each in life.open if each.alarm.kind == AlarmKind.LOSS}
        assert losses <= known


def test_stored_alarms_and_notifications_keep_their_member_names() -> None:
    """This version reads rows stored by an earlier one, and vice versa."""
    life = Life()
    life.look(finding())
    (state,), ((_, opened),) = life.tracked.values(), life.told
    members = set(msgspec.msgpack.decode(state.encode()))
    assert members == {"key", "alarm", "absent_ms", "told", "told_ms", "relapses"}
    (stored,) = notifications([opened], ["sns"], [], life.now)
    assert set(msgspec.msgpack.decode(stored.encode())) == {"id", "receiver", "made_ms", "notice"}
