"""Bounds the work for one event, in steps rather than time, so that a retry gives the same result."""


class TooManyStepsError(Exception):
    """The budget is used up."""


class StepBudget:
    """The steps left."""

    def __init__(self, steps: int = 0) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Spend steps; raises TooManyStepsError if fewer are left."""
        self.left -= steps
        if self.left < 0:
            raise TooManyStepsError
