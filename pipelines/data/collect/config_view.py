"""What collect needs to know of the configuration."""

from typing import Protocol

from shared.contracts.documents import Catalogue


class ConfigView(Protocol):
    """The newest configuration, read from the `config` topic."""

    @property
    def loaded(self) -> bool:
        """Whether the topic was read to its end once."""

    @property
    def view(self) -> Catalogue:
        """The documents now."""
