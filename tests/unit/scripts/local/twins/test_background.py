"""Long work runs one piece at a time."""

import threading

from scripts.local.progress import Progress
from scripts.local.twins.background import Background
from shared.runtime.errors import OperatorError
from tests.harness.waiting import eventually


def test_what_is_under_way_is_not_begun_again() -> None:
    background, let, begun = Background(), threading.Event(), []

    def work(_: Progress) -> None:
        begun.append(1)
        let.wait(60)

    for _ in range(3):
        background.want("start", work)
    assert background.busy
    let.set()
    eventually(lambda: not background.busy)
    assert begun == [1]


def test_a_newer_wish_cancels_what_reports_its_progress_and_follows_it() -> None:
    background, began, done = Background(), threading.Event(), []

    def endless(progress: Progress) -> None:
        with progress.step("waiting") as say:
            began.set()
            while True:
                say("still waiting")

    background.want("start", endless)
    assert began.wait(60)
    background.want("park", lambda _: done.append("parked"))
    eventually(lambda: not background.busy)
    assert done == ["parked"]
    assert background.failure == ""


def test_what_is_under_way_says_how_far_it_is() -> None:
    seconds = iter([0, 3, 10, 12])
    background, said = Background(lambda: next(seconds)), []

    def work(progress: Progress) -> None:
        with progress.step("warming up") as say:
            for second in (3, 10, 12):
                said.append(background.said)
                say(f"warming up: {second} s")
            said.append(background.said)

    background.want("start", work)
    eventually(lambda: not background.busy)
    assert said == ["warming up", "warming up", "warming up: 10 s", "warming up: 10 s"], "not at each report"
    assert background.said == ""


def test_the_newest_of_several_wishes_follows() -> None:
    background, let, done = Background(), threading.Event(), []
    background.want("one", lambda _: (let.wait(60), None)[1])
    background.want("two", lambda _: done.append(2))
    background.want("three", lambda _: done.append(3))
    let.set()
    eventually(lambda: not background.busy)
    assert done == [3]


def test_a_failure_is_kept_in_words_until_the_next_work() -> None:
    background = Background()

    def failing(_: Progress) -> None:
        raise OperatorError("spark is not ready after 300 s")

    background.want("start", failing)
    eventually(lambda: not background.busy)
    assert background.failure == "spark is not ready after 300 s"
    background.want("start", lambda _: None)
    eventually(lambda: not background.busy)
    assert background.failure == ""


def test_a_failure_that_does_not_matter_any_more_is_forgotten_but_not_what_is_under_way() -> None:
    background, let = Background(), threading.Event()

    def failing(_: Progress) -> None:
        let.wait(60)
        raise OperatorError("the supervisor does not answer")

    background.want("park", failing)
    background.forget()
    assert background.busy
    let.set()
    eventually(lambda: not background.busy)
    assert background.failure == "the supervisor does not answer"
    background.forget()
    assert background.failure == ""
