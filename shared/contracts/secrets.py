"""What secrets look like to those who need them; where they come from is the runtime's business."""

from typing import Protocol


class UnknownSecretError(LookupError):
    """There is no such secret, or not yet. The text names it; it holds no value."""

    def __init__(self, reference: str) -> None:
        super().__init__(f"secret_missing: there is no {reference}; create it, or correct its name")
        self.reference = reference


class Secrets(Protocol):
    """All secrets of a side, in memory."""

    def get(self, reference: str) -> str:
        """The value of `secret://name`, without a look-up.

        Raises:
            UnknownSecretError: if there is none of that name.
        """
        ...


class NoSecrets:
    """The secrets of a process that was given none."""

    def get(self, reference: str) -> str:
        """Raises UnknownSecretError."""
        raise UnknownSecretError(reference)
