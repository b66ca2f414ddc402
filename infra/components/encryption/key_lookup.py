"""Looks up foundation's KMS keys by alias: a reference would couple the stacks' deployments."""

from cdktf_cdktf_provider_aws.data_aws_kms_alias import DataAwsKmsAlias
from constructs import Construct

from infra.naming import Names


class KeyLookup(Construct):
    """ARNs of the keys that a side encrypts with."""

    def __init__(self, scope: Construct, name: str, *, names: Names) -> None:
        """Look the keys up; foundation must be deployed first.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            names: Naming rules of the environment.
        """
        super().__init__(scope, name)
        self.cluster = self._arn("cluster", names)
        self.data = self._arn("data", names)
        self.kafka = self._arn("kafka", names)
        self.logs = self._arn("logs", names)

    def _arn(self, purpose: str, names: Names) -> str:
        return str(DataAwsKmsAlias(self, purpose, name=names.key_alias(purpose)).target_key_arn)
