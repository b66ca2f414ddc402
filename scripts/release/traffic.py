"""The traffic as it is now: weights and closed sides, which no file holds.

`python -m scripts.release.traffic show` prints the weights, `dark` the side without traffic. `close green`
keeps traffic from a side while its stack is changed, `open green` ends that. The state is in SSM parameters,
from which the edge stack takes it: a plan after a change is empty.

`set '{"blue": 95, "green": 5}'` moves the traffic within seconds, behind the deployer's back: for the day
when that is of no use, or the table is.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import boto3

from pipelines.control.backends.aws.weighted_records import NoRecordsError, Traffic, TrafficSettings
from shared.contracts.side_weights import SIDES, Weights, WrongWeightsError

_ROOT = Path(__file__).parents[2]


def dark(now: Weights) -> str:
    """The side without traffic.

    Raises:
        WrongWeightsError: both have some.
    """
    if 0 not in now:
        raise WrongWeightsError(f"both sides serve ({now.text()}): end the burst or the release first")
    return SIDES[now.index(0)]


def main(arguments: Sequence[str]) -> int:
    """Show or change the traffic of the environment that HIFI_ENVIRONMENT names; the exit code."""
    parser = argparse.ArgumentParser(prog="scripts.release.traffic", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("show", help="print the weights that hold now")
    commands.add_parser("dark", help="print the side without traffic")
    commands.add_parser("set", help="set the weights").add_argument("weights", help="JSON of the weights")
    for name in ("close", "open"):
        commands.add_parser(name).add_argument("side", choices=SIDES)
    given = parser.parse_args(arguments)
    try:
        print(_done(_traffic(), given))
    except NoRecordsError as error:
        sys.stderr.write(f"{error}\n")
        # Without records nothing leads to a side: it is closed.
        return 0 if given.command in ("close", "open") else 1
    except WrongWeightsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _traffic() -> Traffic:
    """The environment's traffic; its hosted zone is looked up by name.

    Raises:
        NoRecordsError: there is no such zone.
    """
    found = _outputs()
    route53 = boto3.client("route53", endpoint_url=found.get("endpoint"), region_name=found["region"])
    zones = route53.list_hosted_zones_by_name(DNSName=found["domain"], MaxItems="1")["HostedZones"]
    if not zones or zones[0]["Name"] != f"{found['domain']}.":
        raise NoRecordsError(f"there is no hosted zone {found['domain']}; deploy foundation first")
    return Traffic.at(TrafficSettings.of(found, zone=zones[0]["Id"]))


def _outputs() -> dict[str, str]:
    """Infra's values of the environment; it has printed an error itself if this ends the program."""
    done = subprocess.run(
        [sys.executable, "-m", "infra.workloads.outputs"],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.returncode)
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def _done(traffic: Traffic, given: argparse.Namespace) -> str:
    match given.command:
        case "dark":
            return dark(traffic.weights())
        case "set":
            traffic.set_weights(Weights.parse(given.weights))
        case "close":
            traffic.close(given.side)
        case "open":
            traffic.open(given.side)
    return traffic.weights().text()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
