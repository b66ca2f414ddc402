"""`make dashboard`: writes infra/dashboards from this package; a test holds both together."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from scripts.dashboard.charts import hifi
from scripts.dashboard.scrape import kubernetes, local
from scripts.local.side import Side

FOLDER: Final = Path(__file__).parents[2] / "infra" / "dashboards"

_HEAD: Final = "# Written by `make dashboard`.\n"


def files() -> dict[str, str]:
    """Each file's name and text."""
    return {
        "hifi.json": json.dumps(hifi(), indent=2) + "\n",
        "prometheus-local.yml": _yaml(local(Side(root=Path()))),
        "prometheus-kubernetes.yml": _yaml(kubernetes()),
    }


def _yaml(value: dict[str, Any]) -> str:
    return _HEAD + yaml.safe_dump(value, sort_keys=False)


def main() -> int:
    """Write them; the exit code."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text)
        sys.stdout.write(f"{FOLDER / name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
