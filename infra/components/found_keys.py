"""Keys of foundation, found by name: a reference would tie the stacks' deployments together."""

from cdktf_cdktf_provider_aws.data_aws_kms_alias import DataAwsKmsAlias
from constructs import Construct

from infra.naming import Names


class FoundKeys(Construct):
    """ARNs of the keys a side encrypts with."""

    def __init__(self, scope: Construct, name: str, *, names: Names) -> None:
        """Look the keys up; foundation has to be deployed.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            names: Naming rules of the environment.
        """
        super().__init__(scope, name)
        self.cluster = self._arn("cluster", names)
        self.data = self._arn("data", names)
        self.kafka = self._arn("kafka", names)
        self.logs = self._arn("logs", names)

    def _arn(self, purpose: str, names: Names) -> str:
        return str(DataAwsKmsAlias(self, purpose, name=names.key_alias(purpose)).target_key_arn)
