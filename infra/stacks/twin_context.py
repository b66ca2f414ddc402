"""The context that every part of a side's stack refers to."""

from dataclasses import dataclass

from constructs import Construct

from infra.components.encryption.key_lookup import KeyLookup
from infra.config import Environment, TwinSettings


@dataclass(frozen=True, kw_only=True)
class TwinContext:
    """The stack of a side while its parts are declared.

    Attributes:
        stack: The stack: parts are declared directly in it, as their path is their name in Terraform's state.
        environment: Settings of the environment.
        twin: The side's own settings.
        keys: Foundation's keys.
        alarm_topic_arn: SNS topic of the side's alarms.
    """

    stack: Construct
    environment: Environment
    twin: TwinSettings
    keys: KeyLookup
    alarm_topic_arn: str

    @property
    def prefix(self) -> str:
        """Start of every name of the side."""
        return self.twin.names.prefix

    @property
    def boundary_arn(self) -> str:
        """Permissions boundary of every role of the side."""
        return self.environment.boundary_arn
