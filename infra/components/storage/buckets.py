"""The buckets of an environment: Terraform's state, checkpoints, landed data, versions, access logs."""

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

from infra.aws.arns import bucket_arn
from infra.aws.policy import Statement
from infra.components.encryption.keys import Keys
from infra.components.storage.bucket import Bucket
from infra.config import Environment

_EVERYTHING = S3BucketLifecycleConfigurationRuleFilter(prefix="")
_ABANDONED_DAYS = 7
_ACCESS_LOG_DAYS = 90
_COLD_AFTER_DAYS = 30

# By purpose: the KMS key, and the days that old versions are kept. An old state helps to explain an incident.
# A checkpoint is useless after three days, when the busy topics have deleted the records that it points to.
# Customers keep landed data, so only overwritten versions of it are deleted. What a version of hifi consists
# of is written once, and read again whenever it is released.
_KEYS: Mapping[str, str] = MappingProxyType(
    {"state": "state", "checkpoints": "data", "landed": "data", "versions": "images"}
)
_OLD_VERSION_DAYS: Mapping[str, int] = MappingProxyType(
    {"state": 365, "checkpoints": 3, "landed": 30, "versions": 30}
)


class Buckets(Construct):
    """The buckets, and one more for their access logs."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, keys: Keys) -> None:
        """Declare the buckets.

        Args:
            scope: The stack.
            name: Construct id in the stack.
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
                # Without the policy S3 may not write, and the first logs are lost.
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
                *_cleanup(old_version_days=_ABANDONED_DAYS),
            ],
            statements=[_log_delivery(environment)],
            emptied_on_destroy=environment.is_local,
        )


def _lifecycle(purpose: str) -> Sequence[S3BucketLifecycleConfigurationRule]:
    cleanup = _cleanup(old_version_days=_OLD_VERSION_DAYS[purpose])
    if purpose != "landed":
        return cleanup
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
    return [cold, *cleanup]


def _cleanup(*, old_version_days: int) -> list[S3BucketLifecycleConfigurationRule]:
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
            # Once the last old version of a deleted object has expired, its delete marker goes as well:
            # otherwise listing a checkpoint's folder becomes slower with every batch.
            expiration=[S3BucketLifecycleConfigurationRuleExpiration(expired_object_delete_marker=True)],
            abort_incomplete_multipart_upload=[abandoned],
        )
    ]


def _log_delivery(environment: Environment) -> Statement:
    return Statement(
        sid="LogsOfBuckets",
        actions=["s3:PutObject"],
        resources=[f"{bucket_arn(environment.names.bucket('access-logs'))}/*"],
        principals={"Service": "logging.s3.amazonaws.com"},
        conditions={"StringEquals": {"aws:SourceAccount": environment.account}},
    )
