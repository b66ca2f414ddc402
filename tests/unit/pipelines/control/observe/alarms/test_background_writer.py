"""Alarms are stored, whatever error an earlier write met."""

import threading
from collections.abc import Iterable

from pipelines.control.observe.alarms.background_writer import BackgroundWriter
from pipelines.control.observe.dynamodb import Item, Store


class FailingOnce(Store):
    """The first write fails with an error that is not the store's."""

    def __init__(self) -> None:
        super().__init__("alarms", "http://127.0.0.1:1")
        self.items: list[Item] = []
        self.failed, self.written = False, threading.Event()

    def put(self, items: Iterable[Item]) -> None:
        if not self.failed:
            self.failed = True
            raise RuntimeError("not a failure of the store")
        self.items += items
        if self.items:
            self.written.set()


def test_an_error_that_was_not_expected_does_not_end_the_writing_of_alarms() -> None:
    store, item = FailingOnce(), Item("alarm", "1", b"")
    writer = BackgroundWriter(store, retry_seconds=0.01)
    writer.put({}, {(item.pk, item.sk): item})
    assert store.written.wait(60), "the write was not repeated"
    writer.close()
    assert store.items == [item]
