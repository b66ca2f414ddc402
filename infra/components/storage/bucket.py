"""An S3 bucket that is private, encrypted and versioned, allows TLS only and has a lifecycle."""

from collections.abc import Sequence

from cdktf_cdktf_provider_aws.s3_bucket import S3Bucket
from cdktf_cdktf_provider_aws.s3_bucket_lifecycle_configuration import (
    S3BucketLifecycleConfiguration,
    S3BucketLifecycleConfigurationRule,
)
from cdktf_cdktf_provider_aws.s3_bucket_ownership_controls import (
    S3BucketOwnershipControls,
    S3BucketOwnershipControlsRule,
)
from cdktf_cdktf_provider_aws.s3_bucket_policy import S3BucketPolicy
from cdktf_cdktf_provider_aws.s3_bucket_public_access_block import S3BucketPublicAccessBlock
from cdktf_cdktf_provider_aws.s3_bucket_server_side_encryption_configuration import (
    S3BucketServerSideEncryptionConfigurationA,
    S3BucketServerSideEncryptionConfigurationRuleA,
    S3BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultA,
)
from cdktf_cdktf_provider_aws.s3_bucket_versioning import (
    S3BucketVersioningA,
    S3BucketVersioningVersioningConfiguration,
)
from constructs import Construct

from infra.aws.arns import bucket_arn
from infra.aws.policy import ANY, Statement, policy_document


class Bucket(Construct):
    """A bucket and the resources that protect it."""

    def __init__(  # noqa: PLR0913 -- each a property of the bucket
        self,
        scope: Construct,
        name: str,
        *,
        bucket_name: str,
        key_arn: str | None,
        rules: Sequence[S3BucketLifecycleConfigurationRule],
        statements: Sequence[Statement] = (),
        emptied_on_destroy: bool,
    ) -> None:
        """Declare the bucket.

        Args:
            scope: The construct that it belongs to.
            name: Construct id in it.
            bucket_name: Name in AWS.
            key_arn: KMS key; None: S3's own key, which AWS requires of a bucket of access logs.
            rules: Lifecycle of the objects.
            statements: Statements of its policy besides "TLS only".
            emptied_on_destroy: Whether destroying it also deletes its objects.
        """
        super().__init__(scope, name)
        self.bucket = S3Bucket(self, "bucket", bucket=bucket_name, force_destroy=emptied_on_destroy)
        self.name = str(self.bucket.bucket)
        self.arn = bucket_arn(bucket_name)
        self._keep_private([_tls_only(self.arn), *statements])
        self._encrypt(key_arn)
        versioning = S3BucketVersioningA(
            self,
            "versioning",
            bucket=self.name,
            versioning_configuration=S3BucketVersioningVersioningConfiguration(status="Enabled"),
        )
        # S3 rejects a lifecycle of old versions until versioning is on.
        S3BucketLifecycleConfiguration(
            self, "lifecycle", bucket=self.name, rule=list(rules), depends_on=[versioning]
        )

    def _keep_private(self, statements: Sequence[Statement]) -> None:
        S3BucketOwnershipControls(
            self,
            "ownership",
            bucket=self.name,
            rule=S3BucketOwnershipControlsRule(object_ownership="BucketOwnerEnforced"),
        )
        block = S3BucketPublicAccessBlock(
            self,
            "public-access",
            bucket=self.name,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
        )
        # S3 rejects two simultaneous changes of a bucket's access.
        self.policy = S3BucketPolicy(
            self, "policy", bucket=self.name, policy=policy_document(statements), depends_on=[block]
        )

    def _encrypt(self, key_arn: str | None) -> None:
        default = S3BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultA(
            sse_algorithm="aws:kms" if key_arn else "AES256", kms_master_key_id=key_arn
        )
        rule = S3BucketServerSideEncryptionConfigurationRuleA(
            apply_server_side_encryption_by_default=default, bucket_key_enabled=key_arn is not None
        )
        S3BucketServerSideEncryptionConfigurationA(self, "encryption", bucket=self.name, rule=[rule])


def _tls_only(arn: str) -> Statement:
    return Statement(
        sid="TlsOnly",
        effect="Deny",
        actions=["s3:*"],
        resources=[arn, f"{arn}/*"],
        principals={"AWS": ANY},
        conditions={"Bool": {"aws:SecureTransport": "false"}},
    )
