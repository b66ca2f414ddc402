"""The names on the way to the fields of data that patterns and watches look at: `data_tree` of
`schema.SOURCE_ROW`, which `data_values` reads. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from shared.contracts.patterns import DataPath

_Name = tuple[int, str]
"""The number, within its level, of the object that the name is looked up in, and the name."""


class _Level(NamedTuple):
    objects: list[_Name]
    """Names on the way to other fields."""

    fields: list[_Name]


class Tree(NamedTuple):
    """`data_tree` as a row, and figures that its cost depends on."""

    row: tuple[list[str], list[str], list[_Level]] | None
    """Null without paths: no data is read then."""

    levels: int = 0
    """Levels of objects below the data's own."""

    most_names: int = 0
    """Most names that are looked up in one object."""


def slots(paths: Iterable[DataPath]) -> dict[DataPath, int]:
    """The slot of each distinct path: shorter ones come first, as the tree is read level by level."""
    return {path: slot for slot, path in enumerate(sorted(dict.fromkeys(paths), key=len))}


def tree_of(paths: Collection[DataPath]) -> Tree:
    """The tree of paths in the order of their slots."""
    if not paths:
        return Tree(None)
    levels = list(_levels(paths))
    names = (Counter(of for of, _ in (*level.objects, *level.fields)) for level in levels)
    top, *inner = levels
    row = [name for _, name in top.objects], [name for _, name in top.fields], inner
    return Tree(row, len(inner), max(max(each.values()) for each in names))


def _levels(paths: Collection[DataPath]) -> Iterator[_Level]:
    """The data's own names first. Takes time in proportion to the names of all paths together."""
    reached = [(path, 0) for path in paths]
    for depth in range(max(map(len, paths))):
        fields = [(of, path[depth]) for path, of in reached if len(path) == depth + 1]
        objects: dict[_Name, int] = {}
        reached = [
            (path, objects.setdefault((of, path[depth]), len(objects)))
            for path, of in reached
            if len(path) > depth + 1
        ]
        yield _Level(list(objects), fields)
