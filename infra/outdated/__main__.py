"""Say which pinned versions are behind: `python -m infra.outdated`."""

import sys

from infra.config import InvalidSettingsError, load_environment, load_run
from infra.outdated.offers import pins
from infra.outdated.versions import table
from infra.preflight.__main__ import account_of


def main() -> int:
    """Print what is behind; the exit code is 1 if something is."""
    try:
        environment = load_environment(load_run())
    except InvalidSettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    lines = table(pins(environment, account_of(environment).client))
    sys.stdout.writelines(f"{line}\n" for line in lines or [f"{environment.name}: nothing is behind"])
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
