"""A user's view of a long `terraform apply`: few lines, and every error whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

EVERY_S = 10.0
_ENDED = ("apply_complete", "apply_errored")
_CHANGES = ("add", "change", "remove")


@dataclass
class Progress:
    """Counts resources in Terraform's machine-readable messages.

    Source: https://developer.hashicorp.com/terraform/internals/machine-readable-ui
    """

    stack: str
    started: float
    """When the command started, seconds of a monotonic clock."""
    planned: int = 0
    done: int = 0
    _told: float = 0.0

    def lines(self, message: Mapping[str, Any], now: float) -> Iterator[str]:
        """Yield the lines to print about one message.

        Args:
            message: One line of `terraform apply -json`.
            now: Seconds of the same clock as `started`.
        """
        kind = message.get("type")
        if kind == "change_summary" and message["changes"]["operation"] == "plan":
            self.planned = sum(message["changes"][each] for each in _CHANGES)
        self.done += kind in _ENDED and message["hook"]["action"] != "read"
        if kind == "change_summary" or _is_error(message):
            yield f"{self.stack}: {_text(message)}"
        elif self.planned and now - max(self._told, self.started) >= EVERY_S:
            self._told = now
            yield f"{self.stack}: {self.done} of {self.planned} done after {now - self.started:.0f} s"


def _is_error(message: Mapping[str, Any]) -> bool:
    return message.get("type") == "diagnostic" and message["diagnostic"]["severity"] == "error"


def _text(message: Mapping[str, Any]) -> str:
    """The summary of a change, or all that is known of an error."""
    diagnostic = message.get("diagnostic", {})
    parts = (message["@message"], diagnostic.get("address", ""), diagnostic.get("detail", ""))
    return "\n  ".join(part for part in parts if part)
