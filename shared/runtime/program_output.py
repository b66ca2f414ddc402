"""The last line of a program's output."""


def last_line(text: str) -> str:
    """The last line of what a program wrote: of a traceback the error."""
    return (text.strip().splitlines() or ["no output"])[-1]
