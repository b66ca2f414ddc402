"""A version's answer about records and checkpoints that another one wrote. Pure."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

MODULE: Final = "pipelines.control.readability"
"""A version is asked by `python -m` of this; one without it is older than the question."""

POSITIONS: Final = "HIFI_POSITIONS"
"""Environment variable: where the side's queries stand, JSON, see `ReadabilitySettings`."""

BROKERS_SILENT: Final = 75
"""Exit status: nothing could be asked, so try again (EX_TEMPFAIL of BSD's sysexits)."""


class Reading(Struct, frozen=True, kw_only=True):
    """The result of reading a recording with one version."""

    refused: dict[str, int] = {}
    """By topic, how many of its records the node that reads it cannot use."""

    records: dict[str, int] = {}
    """By topic, how many there were."""

    checkpoints: list[str] = []
    """Why this version cannot go on from the checkpoints, a sentence each; empty if it can."""

    @property
    def reads_all(self) -> bool:
        """Whether there is nothing that it refuses."""
        return not self.refused and not self.checkpoints


def more_refused(new: Reading, old: Reading) -> Sequence[str]:
    """Records and checkpoints that a version refuses though the one that serves does not, in words."""
    found = [
        f"refuses {count} of {new.records[topic]} records of {topic}; the version that serves refuses "
        f"{old.refused.get(topic, 0)}"
        for topic, count in sorted(new.refused.items())
        if count > old.refused.get(topic, 0)
    ]
    strange = [text for text in new.checkpoints if text not in old.checkpoints]
    return [*found, *(f"cannot go on from the checkpoints of the side: {text}" for text in strange)]
