"""The weighted records of an environment, and the SSM parameters from which the edge stack takes them.

Parameter and records change together, so a deployment of edge never moves traffic.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3

from shared.contracts.side_weights import Weights, WrongWeightsError


class NoRecordsError(RuntimeError):
    """The edge stack is not deployed, so there are no records to change."""


@dataclass(frozen=True, kw_only=True)
class TrafficSettings:
    """Where an environment keeps its traffic.

    Attributes:
        region: AWS region.
        zone: Id of the hosted zone.
        host: Name of the weighted records of events.
        management_hosts: Names of the records of API and console, which lead to one side alone.
        weights_parameter: SSM parameter of the weights.
        closed_parameter: SSM parameter of the closed sides.
        endpoint: Endpoint of a local AWS; None: AWS.
    """

    region: str
    zone: str
    host: str
    management_hosts: tuple[str, ...]
    weights_parameter: str
    closed_parameter: str
    endpoint: str | None = None

    @classmethod
    def of(cls, outputs: Mapping[str, str], *, zone: str) -> "TrafficSettings":
        """The settings that `infra.workloads.outputs` describes, with a hosted zone that was looked up."""
        return cls(
            region=outputs["region"],
            zone=zone,
            host=outputs["events"],
            management_hosts=tuple(outputs["management"].split(",")),
            weights_parameter=outputs["weights_parameter"],
            closed_parameter=outputs["closed_parameter"],
            endpoint=outputs.get("endpoint"),
        )


@dataclass(frozen=True)
class Traffic:
    """The traffic of an environment; `ssm` and `route53` are boto3 clients."""

    settings: TrafficSettings
    ssm: Any
    route53: Any

    @classmethod
    def at(cls, settings: TrafficSettings) -> "Traffic":
        """The traffic of an environment, with the credentials of this shell."""
        options = {"endpoint_url": settings.endpoint, "region_name": settings.region}
        return cls(settings, boto3.client("ssm", **options), boto3.client("route53", **options))

    def weights(self) -> Weights:
        """The weights that hold now.

        Raises:
            WrongWeightsError: The parameter holds none.
        """
        return Weights.parse(self._value(self.settings.weights_parameter))

    def holds(self, wanted: Weights) -> bool:
        """Whether the parameter and each record have these weights.

        They differ if a change was refused, or its writer died, after the first of the two.

        Raises:
            WrongWeightsError: The parameter holds none.
            NoRecordsError: The edge stack is not deployed.
        """
        records = self._records()
        return self.weights() == wanted and records == [self._weighted(each, wanted) for each in records]

    def set_weights(self, wanted: Weights) -> str:
        """Give each side its weight, at once for both; API and console go to the one with more.

        The parameter goes first, so that a deployment of edge at this moment ends in the same state. If the
        records cannot be changed, the parameter gets its old value back.

        Args:
            wanted: New weights.

        Returns:
            Id of Route 53's change.

        Raises:
            NoRecordsError: The edge stack is not deployed.
            botocore.exceptions.ClientError: AWS refused.
        """
        records = self._records()
        before = self.weights()
        self._store(self.settings.weights_parameter, wanted.text())
        try:
            return self._change([self._weighted(each, wanted) for each in records])
        except Exception:
            self._store(self.settings.weights_parameter, before.text())
            raise

    def _weighted(self, record: dict[str, Any], wanted: Weights) -> dict[str, Any]:
        of_events = record["Name"] == f"{self.settings.host}."
        shares = wanted if of_events else wanted.leading()
        return {**record, "Weight": shares.of(record["SetIdentifier"])}

    def closed(self) -> list[str]:
        """The sides that get no traffic in any case."""
        found: list[str] = json.loads(self._value(self.settings.closed_parameter))
        return found

    def close(self, side: str) -> None:
        """Keep traffic from a side, even if no other side is healthy.

        Raises:
            WrongWeightsError: The side has traffic.
            NoRecordsError: The edge stack is not deployed.
        """
        if self.weights().of(side):
            raise WrongWeightsError(f"{side} has traffic ({self.weights().text()}): switch first")
        self._set_closed(side, [*self.closed(), side])

    def open(self, side: str) -> None:
        """Let a side get traffic again.

        Raises:
            NoRecordsError: The edge stack is not deployed.
        """
        self._set_closed(side, [each for each in self.closed() if each != side])

    def _set_closed(self, side: str, closed: Sequence[str]) -> None:
        check = next(each["HealthCheckId"] for each in self._records() if each["SetIdentifier"] == side)
        shut = side in closed
        self.route53.update_health_check(HealthCheckId=check, Disabled=shut, Inverted=shut)
        self._store(self.settings.closed_parameter, json.dumps(sorted(set(closed))))

    def _records(self) -> list[dict[str, Any]]:
        """The weighted records of the zone."""
        hosts = {f"{each}." for each in (self.settings.host, *self.settings.management_hosts)}
        pages = self.route53.get_paginator("list_resource_record_sets").paginate(
            HostedZoneId=self.settings.zone
        )
        found = [
            each
            for page in pages
            for each in page["ResourceRecordSets"]
            if each["Name"] in hosts and "Weight" in each
        ]
        if not found:
            raise NoRecordsError(f"{self.settings.host} has no weighted records; deploy the edge stack first")
        return found

    def in_force(self, change: str) -> bool:
        """Whether all name servers of Route 53 answer by a change."""
        return str(self.route53.get_change(Id=change)["ChangeInfo"]["Status"]) == "INSYNC"

    def _change(self, records: Sequence[dict[str, Any]]) -> str:
        changes = [{"Action": "UPSERT", "ResourceRecordSet": each} for each in records]
        batch = {"Changes": changes}
        reply = self.route53.change_resource_record_sets(HostedZoneId=self.settings.zone, ChangeBatch=batch)
        return str(reply["ChangeInfo"]["Id"])

    def _value(self, parameter: str) -> str:
        return str(self.ssm.get_parameter(Name=parameter)["Parameter"]["Value"])

    def _store(self, parameter: str, value: str) -> None:
        self.ssm.put_parameter(Name=parameter, Value=value, Overwrite=True)
