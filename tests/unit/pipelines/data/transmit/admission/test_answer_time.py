"""Whether a micro-batch has time for one more request."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.admission.answer_time import judged, kept_back, usual_after, whole_try
from pipelines.data.transmit.connectors.base import Answer

TIMEOUTS = st.floats(0.1, 10.0)
MICRO_BATCHES = st.floats(3.0, 60.0)
ANSWERS = st.lists(
    st.sampled_from([None, 200, 404, 503]).map(lambda status: Answer(status=status)), max_size=5
)


def starts(latency: float, timeout: float, micro_batch: float) -> list[float]:
    """Start times of two micro-batches' requests to a destination that takes one at a time."""
    found, usual = [], 0.0
    whole = whole_try(timeout, micro_batch)
    for _ in range(2):
        now = 0.0
        while now < micro_batch - kept_back(usual, whole):
            found.append(now)
            now += latency
            usual = usual_after(usual, latency)
    return found


@given(st.floats(0.05, 8.9), MICRO_BATCHES)
def test_a_destination_that_takes_equally_long_is_never_cut_short(latency: float, micro_batch: float) -> None:
    timeout = 10.0
    if latency < whole_try(timeout, micro_batch):
        assert all(start + latency <= micro_batch for start in starts(latency, timeout, micro_batch))


@given(st.floats(0.0, 100.0), TIMEOUTS, MICRO_BATCHES)
def test_every_micro_batch_sends_however_long_answers_took(
    usual: float, timeout: float, micro_batch: float
) -> None:
    back = kept_back(usual, whole_try(timeout, micro_batch))
    assert min(timeout, 1.0) <= back <= timeout
    assert micro_batch - back >= 0.09 * micro_batch


@given(st.lists(st.floats(0.0, 10.0), min_size=1))
def test_the_usual_duration_is_never_below_the_last_one_nor_above_the_longest(requests: list[float]) -> None:
    usual = 0.0
    for each in requests:
        usual = usual_after(usual, each)
    assert requests[-1] <= usual <= max(requests)


def test_one_long_answer_is_forgotten_after_a_dozen_short_ones() -> None:
    usual = usual_after(0.0, 9.0)
    for _ in range(12):
        usual = usual_after(usual, 0.1)
    assert usual < 1.0


@given(ANSWERS, st.floats(0.0, 12.0), st.floats(0.1, 10.0), TIMEOUTS)
def test_only_silence_to_a_request_that_the_deadline_ended_is_cut_short(
    answers: list[Answer], took: float, given_seconds: float, whole: float
) -> None:
    found = judged(answers, took, given_seconds, whole)
    ended_by_deadline = took >= given_seconds and given_seconds < whole
    assert [each.cut_short for each in found] == [
        ended_by_deadline and each.status is None for each in answers
    ]
