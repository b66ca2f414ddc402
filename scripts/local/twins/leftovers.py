"""Ends what is left of a side or of twins if their `hifi up` ended without doing so."""

from collections.abc import Sequence
from pathlib import Path

from scripts.local.processes.supervisor import end_leftovers
from scripts.local.twins.place import Twins, are_twins


def end_all_leftovers(root: Path) -> int:
    """End every process of the side or the twins in `root`; returns their number."""
    return sum(end_leftovers(each) for each in _roots(root))


def _roots(root: Path) -> Sequence[Path]:
    """Folders that mark processes, those that others need last."""
    if not are_twins(root):
        return [root]
    twins = Twins.load(root)
    return [root, *(side.root for side in twins.sides), twins.edge.root]
