"""How much work one event may cause: counted in steps, not in time, so that a second try ends the same."""


class TooManyStepsError(Exception):
    """The account is empty."""


class StepBudget:
    """Steps that may still be taken."""

    def __init__(self, steps: int = 0) -> None:
        self.left = steps

    def pay(self, steps: int) -> None:
        """Raises TooManyStepsError when there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise TooManyStepsError
