"""`python -m scripts.experiments.bench.transform_cost`: CPU time of masks and transforms."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from scripts.terminal import out
from shared.contracts.documents import Pipe
from shared.contracts.masks import Mask
from shared.transformation.event_content import EventContent
from shared.transformation.pipe_transform import PipeTransform, TransformError

_ITEMS: Final = [{"id": n, "sku": f"s{n}", "card": "4111111111111111", "price": n / 4} for n in range(9_000)]
_SMALL: Final = {"id": 1, "user": {"email": "a@b.c", "name": "n"}, "items": _ITEMS[:4], "pad": "x" * 200}
_LARGE: Final = {"user": {"email": "a@b.c"}, "items": _ITEMS}
_MEGABYTE: Final[Mapping[str, Any]] = {
    "numbers": list(range(150_000)),
    "objects": [{}] * 330_000,
    "nested": [[[n]] * 3 for n in range(40_000)],
    "texts": ['"\\' * 10] * 20_000,
    "items": _ITEMS * 2,
}
_HONEST: Final = (
    "{order: data.id, name: data.user.name, n: length(data.items), total: sum(data.items[].price)}"
)
_HOSTILE: Final = (
    "data|" + "|".join(["[@,@]"] * 60),
    "data|" + "|".join(["{a:@,b:@}"] * 60),
    "data|" + "|".join(["[@,@][]"] * 60),
    "data|" + "|".join(["to_string([@])"] * 90),
    "data|" + "|".join(["sort(@)"] * 90),
    "data|" + "|".join(["[::-1]"] * 90),
    "data[?@ > `3` && @ < `9`]",
    "data[].{a: @, b: @, c: id, d: sku}",
    "map(&map(&[@, @], [@, @]), data)",
    "sort_by(data, &id)[].sku",
    "[" + ",".join(["data == data"] * 600) + "]",
    "[" + ",".join(["length(to_string(data))"] * 300) + "]",
    "[" + ",".join(["contains(data, `[]`)"] * 300) + "]",
)


def main() -> None:
    """Print a table."""
    table = Table("what", "bytes", "ms", title="masks and transforms, best of 5, thread time")
    for what, size, seconds in _measured():
        table.add_row(what, f"{size:,}", f"{seconds * 1000:.3f}")
    out().print(table)


def _measured() -> Iterator[tuple[str, int, float]]:
    small, large = _event(_SMALL), _event(_LARGE)
    for what, path in (("one place", "$.data.user.email"), ("in each item", "$.data.items[*].card")):
        shape = _shape(masks=[Mask(path=path, action="hash")])
        yield f"hash, {what}", _size(small), _best(shape, small, 200)
        yield f"hash, {what}", _size(large), _best(shape, large, 3)
    honest = _shape(transform=_HONEST)
    yield "an honest transform", _size(small), _best(honest, small, 200)
    yield "an honest transform", _size(large), _best(honest, large, 1)
    for name, data in _MEGABYTE.items():
        event = _event(data)
        worst, text = max((_best(_shape(transform=text), event, 1, tries=1), text) for text in _HOSTILE)
        yield f"the worst of {len(_HOSTILE)} hostile ones, {name}: {escape(text[:40])}", _size(event), worst


def _shape(masks: Sequence[Mask] = (), transform: str | None = None) -> PipeTransform:
    return PipeTransform(
        Pipe(name="p", tenant="t", source="s", destination="d", masks=list(masks), transform=transform)
    )


def _event(data: object) -> EventContent:
    value = json.dumps(data, separators=(",", ":")).encode()
    attributes = b'{"specversion":"1.0","id":"e","source":"s","type":"t"}'
    return EventContent(value=value, attributes=attributes, content_type="application/json", texts=b"{}")


def _size(event: EventContent) -> int:
    return len(event.value or b"")


def _best(shape: PipeTransform, event: EventContent, times: int, tries: int = 5) -> float:
    """Seconds of one application."""

    def apply() -> None:
        with suppress(TransformError):
            shape.apply(event, b"k" * 32)

    return min(_timed(apply, times) for _ in range(tries))


def _timed(work: Callable[[], None], times: int) -> float:
    began = time.thread_time()
    for _ in range(times):
        work()
    return (time.thread_time() - began) / times


if __name__ == "__main__":
    main()
