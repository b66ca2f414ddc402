"""KMS keys, one for each purpose, so that a grant for one decrypts nothing else."""

from collections.abc import Sequence

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.kms_alias import KmsAlias
from cdktf_cdktf_provider_aws.kms_key import KmsKey
from constructs import Construct

from infra.aws.policy import Statement, policy_document, write_reasons
from infra.components.encryption.key_policies import key_statements
from infra.config import Environment

PURPOSES = ("state", "data", "images", "kafka", "cluster", "logs")


class Keys(Construct):
    """A key and its alias for each purpose."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        environment: Environment,
        after: Sequence[ITerraformDependable] = (),
    ) -> None:
        """Declare the keys.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
            after: Principals that the keys' policies name.
        """
        super().__init__(scope, name)
        self._environment, self._after = environment, list(after)
        self._keys = {purpose: self._key(purpose) for purpose in PURPOSES}

    def arn(self, purpose: str) -> str:
        """ARN of the key for a purpose: one of `PURPOSES`."""
        return str(self._keys[purpose].arn)

    def _key(self, purpose: str) -> KmsKey:
        names = self._environment.names
        statements: list[Statement] = key_statements(purpose, self._environment)
        key = KmsKey(
            self,
            purpose,
            description=f"{names.prefix}: {purpose}",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            policy=policy_document(statements),
            depends_on=self._after,
        )
        write_reasons(key, statements)
        KmsAlias(self, f"{purpose}-alias", name=names.key_alias(purpose), target_key_id=key.key_id)
        return key
