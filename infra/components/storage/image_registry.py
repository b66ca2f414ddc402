"""ECR repositories of the images: tags are immutable and every image is scanned."""

import json
from typing import Any

from cdktf_cdktf_provider_aws.ecr_lifecycle_policy import EcrLifecyclePolicy
from cdktf_cdktf_provider_aws.ecr_repository import (
    EcrRepository,
    EcrRepositoryEncryptionConfiguration,
    EcrRepositoryImageScanningConfiguration,
)
from constructs import Construct

from infra.config import Environment

IMAGES = ("service", "spark")
_UNTAGGED_DAYS = 7
_TAGGED_KEPT = 100


class ImageRegistry(Construct):
    """A repository for each image."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, key_arn: str) -> None:
        """Declare the repositories.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
            key_arn: KMS key of the images.
        """
        super().__init__(scope, name)
        for image in IMAGES:
            repository = EcrRepository(
                self,
                image,
                name=environment.names.repository(image),
                image_tag_mutability="IMMUTABLE",
                image_scanning_configuration=EcrRepositoryImageScanningConfiguration(scan_on_push=True),
                encryption_configuration=[
                    EcrRepositoryEncryptionConfiguration(encryption_type="KMS", kms_key=key_arn)
                ],
                force_delete=environment.is_local,
            )
            EcrLifecyclePolicy(
                self, f"{image}-lifecycle", repository=repository.name, policy=_lifecycle_policy()
            )


def _lifecycle_policy() -> str:
    rules: list[dict[str, Any]] = [
        {
            "rulePriority": 1,
            "description": "What a later push left without a tag",
            "selection": {
                "tagStatus": "untagged",
                "countType": "sinceImagePushed",
                "countUnit": "days",
                "countNumber": _UNTAGGED_DAYS,
            },
            "action": {"type": "expire"},
        },
        {
            "rulePriority": 2,
            "description": "Enough to go back to any release of the last months",
            "selection": {
                "tagStatus": "tagged",
                "tagPatternList": ["*"],
                "countType": "imageCountMoreThan",
                "countNumber": _TAGGED_KEPT,
            },
            "action": {"type": "expire"},
        },
    ]
    return json.dumps({"rules": rules})
