"""Errors that the command line prints in place of a traceback."""

from typing import ClassVar


class OperatorError(Exception):
    """A failure that the person at the command line can fix.

    The command line prints it on one line of stderr and exits with `status`. Code that calls a library raises
    a subclass of it in place of the library's error, because only there is it known which thing failed.
    """

    status: ClassVar[int] = 1
    """Exit status of the command."""

    def __init__(self, problem: str, fix: str = "") -> None:
        """Describe the failure.

        Args:
            problem: what failed, by its name, and why.
            fix: what to do about it, where `problem` does not say so already.
        """
        super().__init__(f"{problem}; {fix}" if fix else problem)


class UsageError(OperatorError):
    """An option or argument that the command cannot use."""

    status = 2
