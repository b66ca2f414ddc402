"""Say what an account lacks for an environment: `python -m infra.preflight [--file]`."""

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import boto3

from infra.config import Environment, InvalidSettingsError, load_environment, load_run
from infra.preflight.account import Account
from infra.preflight.quotas import Shortage, demands, shortages

_LOCAL_KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


def account_of(environment: Environment) -> Account:
    """The account of an environment, with the credentials of this shell; in `local` any will do."""
    endpoint = environment.endpoint
    options: dict[str, Any] = {"region_name": environment.region, "endpoint_url": endpoint}
    if endpoint is not None:
        options |= _LOCAL_KEYS
    return Account(cache(lambda service: boto3.client(service, **options)))


def too_small(account: Account, environment: Environment) -> list[Shortage]:
    """The quotas that an environment does not fit into."""
    wanted = demands(environment)
    quotas = account.quotas((each.service, each.code) for each in wanted)
    return shortages(wanted, quotas, account.used_by_others())


def report(account: Account, environment: Environment, *, file: bool) -> list[str]:
    """Lines about what is missing; none if nothing is.

    Args:
        account: The account to look at.
        environment: What is to be deployed.
        file: Whether to request the quotas that are too small.
    """
    lines = [f"- {each}" for each in account.problems(environment)]
    for each in too_small(account, environment):
        demand = each.demand
        lines.append(
            f"- {demand.name}: quota {each.quota}, needed {each.wanted} ({demand.purpose}"
            f"{f'; {each.used} used by others' if each.used else ''}); {demand.service}/{demand.code}"
        )
        if file:
            lines.append(f"  {account.request(each)}")
    return lines


def main(arguments: Sequence[str]) -> int:
    """Print what the account lacks; the exit code is 1 if it lacks something."""
    parser = argparse.ArgumentParser(prog="infra.preflight", description=__doc__)
    parser.add_argument("--file", action="store_true", help="request the quotas that are too small")
    given = parser.parse_args(arguments)
    try:
        environment = load_environment(load_run())
    except InvalidSettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    lines = report(account_of(environment), environment, file=given.file)
    if not lines:
        sys.stdout.write(f"{environment.name}: account {environment.account} is ready\n")
        return 0
    sys.stdout.write(f"{environment.name}: account {environment.account} is not ready:\n")
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
