"""The buckets of an environment: Terraform's state, Spark's checkpoints, landed data, and who read them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cdktf_cdktf_provider_aws.s3_bucket_lifecycle_configuration import (
    S3BucketLifecycleConfigurationRule,
    S3BucketLifecycleConfigurationRuleAbortIncompleteMultipartUpload,
    S3BucketLifecycleConfigurationRuleExpiration,
    S3BucketLifecycleConfigurationRuleFilter,
    S3BucketLifecycleConfigurationRuleNoncurrentVersionExpiration,
    S3BucketLifecycleConfigurationRuleTransition,
)
from cdktf_cdktf_provider_aws.s3_bucket_logging import S3BucketLoggingA
from constructs import Construct

from infra.aws.policy import Statement
from infra.components.bucket import Bucket
from infra.components.keys import Keys
from infra.config import Environment

_EVERYTHING = S3BucketLifecycleConfigurationRuleFilter(prefix="")
_ABANDONED_DAYS = 7
_ACCESS_LOG_DAYS = 90
_COLD_AFTER_DAYS = 30

# Purpose -> its key. A state of months ago explains an incident; a checkpoint is worth no more than the three
# days of the topics it points into; landed data is what customers keep, so only its overwritten versions go.
_KEYS: Mapping[str, str] = MappingProxyType({"state": "state", "checkpoints": "data", "landed": "data"})
_OLD_VERSION_DAYS: Mapping[str, int] = MappingProxyType({"state": 365, "checkpoints": 3, "landed": 30})


class Buckets(Construct):
    """The buckets; each tells one more, of access logs, who read it."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, keys: Keys) -> None:
        """Declare the buckets.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            environment: Settings of the environment.
            keys: The environment's KMS keys.
        """
        super().__init__(scope, name)
        names = environment.names
        logs = self._access_logs(environment)
        for purpose, key in _KEYS.items():
            bucket = Bucket(
                self,
                purpose,
                bucket_name=names.bucket(purpose),
                key_arn=keys.arn(key),
                rules=_lifecycle(purpose),
                emptied_on_destroy=environment.is_local,
            )
            S3BucketLoggingA(
                self,
                f"{purpose}-logging",
                bucket=bucket.name,
                target_bucket=logs.name,
                target_prefix=f"{purpose}/",
                # The first logs are lost, or refused, before the policy lets S3 write them.
                depends_on=[logs.policy],
            )

    def _access_logs(self, environment: Environment) -> Bucket:
        return Bucket(
            self,
            "access-logs",
            bucket_name=environment.names.bucket("access-logs"),
            key_arn=None,
            rules=[
                S3BucketLifecycleConfigurationRule(
                    id="expire",
                    status="Enabled",
                    filter=[_EVERYTHING],
                    expiration=[S3BucketLifecycleConfigurationRuleExpiration(days=_ACCESS_LOG_DAYS)],
                ),
                *_tidy(old_version_days=_ABANDONED_DAYS),
            ],
            statements=[_log_delivery(environment)],
            emptied_on_destroy=environment.is_local,
        )


def _lifecycle(purpose: str) -> Sequence[S3BucketLifecycleConfigurationRule]:
    tidy = _tidy(old_version_days=_OLD_VERSION_DAYS[purpose])
    if purpose != "landed":
        return tidy
    cold = S3BucketLifecycleConfigurationRule(
        id="cold",
        status="Enabled",
        filter=[_EVERYTHING],
        transition=[
            S3BucketLifecycleConfigurationRuleTransition(
                days=_COLD_AFTER_DAYS, storage_class="INTELLIGENT_TIERING"
            )
        ],
    )
    return [cold, *tidy]


def _tidy(*, old_version_days: int) -> list[S3BucketLifecycleConfigurationRule]:
    old = S3BucketLifecycleConfigurationRuleNoncurrentVersionExpiration(noncurrent_days=old_version_days)
    abandoned = S3BucketLifecycleConfigurationRuleAbortIncompleteMultipartUpload(
        days_after_initiation=_ABANDONED_DAYS
    )
    return [
        S3BucketLifecycleConfigurationRule(
            id="tidy",
            status="Enabled",
            filter=[_EVERYTHING],
            noncurrent_version_expiration=[old],
            abort_incomplete_multipart_upload=[abandoned],
        )
    ]


def _log_delivery(environment: Environment) -> Statement:
    return Statement(
        sid="LogsOfBuckets",
        actions=["s3:PutObject"],
        resources=[f"arn:aws:s3:::{environment.names.bucket('access-logs')}/*"],
        principals={"Service": "logging.s3.amazonaws.com"},
        conditions={"StringEquals": {"aws:SourceAccount": environment.account}},
    )
