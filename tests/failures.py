"""`python -m tests.failures STREAM ...`: says once more, at the end of `make test`, what failed and why.

Streams run side by side, so what one of them says of a failure stands minutes above the last line.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

REPORTS: Final = Path(".test-reports")
_MOST_LINES: Final = 12


def failures(report: Path) -> Iterator[str]:
    """A paragraph for each test of a JUnit report that failed: its name, what pytest says, and where.

    One for a run without tests, which fails too.
    """
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    if not cases:
        yield "none of its tests was chosen"
    for case in cases:
        for found in (*case.iter("failure"), *case.iter("error")):
            reasons = _reasons(found.text or found.get("message") or "")
            yield "\n".join((_node(case.get("classname", ""), case.get("name", "")), *reasons))


def _node(place: str, name: str) -> str:
    """The test as pytest takes it on its command line; `place` is its module, and its class if it has one."""
    parts = place.split(".")
    own = next((n for n, part in enumerate(parts) if part.startswith("Test")), len(parts))
    return "::".join(("/".join(parts[:own]) + ".py", *parts[own:], name))


def _reasons(text: str) -> Sequence[str]:
    """The lines of an error that say what happened, and the last one, which says where."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E ")][:_MOST_LINES]
    return [f"    {line}" for line in (*errors, *lines[-1:])]


def main(streams: Sequence[str]) -> int:
    """Print the failures of all streams; returns 0, as it only repeats what was said before."""
    for stream in streams:
        report = REPORTS / f"{stream}.xml"
        if not report.exists():
            sys.stdout.write(f"{stream}: ended before its tests did, see above\n")
            continue
        for failure in failures(report):
            sys.stdout.write(f"{stream}: FAILED {failure}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
