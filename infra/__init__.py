"""What runs in AWS, declared: `python -m infra.main` writes the Terraform of every stack.

Importing any module of this package makes the AWS provider's package lazy first (see `infra.aws.lazy`).
"""

from infra.aws.lazy import defer_submodules

# Here, since Python runs this file before any module of the package can import the provider.
defer_submodules("cdktf_cdktf_provider_aws")
