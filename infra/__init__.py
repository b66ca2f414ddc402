"""The AWS infrastructure as code: `python -m infra.main` writes the Terraform of every stack.

Importing any module of this package first makes the AWS provider's package lazy (see `infra.aws.lazy`).
"""

from infra.aws.lazy import defer_submodules

# Python runs this file before any module of the package can import the provider.
defer_submodules("cdktf_cdktf_provider_aws")
