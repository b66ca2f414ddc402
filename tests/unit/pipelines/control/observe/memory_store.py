"""observe's table in memory."""

from collections.abc import Iterable, Iterator

from pipelines.control.observe.dynamodb import Item, Store


class MemoryStore(Store):
    """Keeps items as written; never fails."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], Item] = {}

    def get(self, pk: str, sk: str) -> bytes | None:
        item = self._items.get((pk, sk))
        return None if item is None else item.body

    def query(self, pk: str, first: str = "", last: str = "\U0010ffff") -> Iterator[Item]:
        keys = sorted(key for key in list(self._items) if key[0] == pk and first <= key[1] <= last)
        return iter([self._items[key] for key in keys])

    def put(self, items: Iterable[Item]) -> None:
        self._items |= {(item.pk, item.sk): item for item in items}

    def delete(self, pk: str, sk: str) -> None:
        self.delete_all([(pk, sk)])

    def delete_all(self, keys: Iterable[tuple[str, str]]) -> None:
        for key in list(keys):
            self._items.pop(key, None)
