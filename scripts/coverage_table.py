"""Print a table of covered lines by package, from the JSON report of coverage.py."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath


def package_of(path: str) -> str:
    """The package of a module: its node (`pipelines/data/collect`), else two levels (`shared/kafka`)."""
    folders = PurePosixPath(path).parent.parts
    return "/".join(folders[: 3 if folders[:1] == ("pipelines",) else 2])


def table(lines: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Rows of package, lines, covered lines and percent, and a total.

    Args:
        lines: for each module's path, its number of statements and how many of them ran.
    """
    total: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    for path, (statements, ran) in lines.items():
        for group in (package_of(path), "total"):
            total[group] += statements
            covered[group] += ran
    yield f"{'package':<36}{'lines':>8}{'covered':>9}{'%':>7}"
    for group in (*sorted(total.keys() - {"total"}), "total"):
        # Truncated, not rounded: 100 means every line.
        percent = covered[group] * 1000 // max(total[group], 1) / 10
        yield f"{group:<36}{total[group]:>8}{covered[group]:>9}{percent:>7.1f}"


def main(report: Path) -> None:
    """Print the table of a JSON report."""
    files = json.loads(report.read_text())["files"]
    summaries = {path: file["summary"] for path, file in files.items()}
    for row in table({path: (s["num_statements"], s["covered_lines"]) for path, s in summaries.items()}):
        print(row)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
