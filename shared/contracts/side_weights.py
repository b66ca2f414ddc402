"""The sides' shares of the traffic. Pure, and of the standard library alone: workflows install little."""

import json
from typing import Final, NamedTuple

SIDES: Final = ("blue", "green")
LOCAL: Final = "local"
"""Name of the only side on a developer's machine."""

ALL: Final = 100
"""The sum of the shares, percent."""


class WrongWeightsError(ValueError):
    """Weights from which the wanted change makes no sense; the message says what does."""


class Weights(NamedTuple):
    """The sides' shares of the traffic, in percent."""

    blue: int
    green: int

    @classmethod
    def parse(cls, text: str) -> "Weights":
        """The weights in a JSON text.

        Raises:
            WrongWeightsError: the text holds no share for each side, or not 100 percent.
        """
        try:
            found = json.loads(text)
            weights = cls(**{side: int(found[side]) for side in SIDES})
        except (ValueError, KeyError, TypeError) as error:
            raise WrongWeightsError(f'weights: {text!r}; give {{"blue": 100, "green": 0}}') from error
        if sum(weights) != ALL or min(weights) < 0:
            raise WrongWeightsError(f"weights: {text!r}; the shares must be 0 or more and sum up to {ALL}")
        return weights

    def of(self, side: str) -> int:
        """A side's share, percent."""
        return {"blue": self.blue, "green": self.green}[side]

    def leading(self) -> "Weights":
        """All to the side with the larger share, blue if both have the same: people cannot be divided."""
        return Weights(ALL, 0) if self.blue >= self.green else Weights(0, ALL)

    def text(self) -> str:
        """The weights as JSON."""
        return json.dumps(self._asdict())
