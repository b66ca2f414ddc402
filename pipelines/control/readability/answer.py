"""A version's answer about records and checkpoints that another one wrote. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
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
    """Records that the topic's reader cannot use, by topic."""

    records: dict[str, int] = {}
    """Records that were read, by topic."""

    checkpoints: list[str] = []
    """Why this version cannot go on from the checkpoints, a sentence each; empty if it can."""


@dataclass(frozen=True)
class Answer:
    """A version's answer: its reading, or why it has none."""

    reading: Reading | None
    """None if it could not say anything."""

    trouble: str = ""
    """Why it could not, in its own last words."""

    @property
    def refuses(self) -> bool:
        """Whether it refuses a part of what it has read, which the version that serves may refuse, too."""
        return self.reading is not None and bool(self.reading.refused or self.reading.checkpoints)


READS_ALL: Final = Answer(Reading())
"""The answer of a version that refuses nothing, or is older than the question."""


def unread(new: Answer, old: Answer, wrote: str) -> Sequence[str]:
    """Reasons, in words, not to let a version read what a side wrote; empty if there are none.

    Args:
        new: answer of the version.
        old: answer of the version that serves: what it refuses, too, is the fault of the records.
        wrote: name of the side.
    """
    if new.reading is None:
        return [f"cannot read what {wrote} wrote: {new.trouble}"]
    return more_refused(new.reading, old.reading or Reading())


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
