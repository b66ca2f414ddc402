"""The configuration as collect sees it."""

from typing import Protocol

from shared.contracts.documents import Catalogue


class Documents(Protocol):
    """A table of the `config` topic."""

    @property
    def loaded(self) -> bool:
        """Whether it was read to its end."""

    @property
    def view(self) -> Catalogue:
        """What it says now."""
