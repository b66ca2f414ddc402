"""Logs rows of the table that another version wrote and this one cannot read, each once."""

import logging
from collections.abc import Collection

_log = logging.getLogger(__name__)  # not `get_logger`: workflows, which show sides, install little


class UnreadableRows:
    """Belongs to one thread at a time."""

    def __init__(self, what: str, effect: str = "a row is skipped") -> None:
        """`what` the rows are, in the plural, and the effect of one."""
        self._what, self._effect = what, effect
        self._logged: set[str] = set()

    def report(self, keys: Collection[str]) -> None:
        """Log those of the rows that are unreadable now and were not at the last call."""
        for key in sorted(set(keys) - self._logged):
            _log.error(
                f"{self._what}: {self._effect}: this version cannot read it; start this program in the "
                "version that wrote it",
                extra={"row": key},
            )
        self._logged = set(keys)
