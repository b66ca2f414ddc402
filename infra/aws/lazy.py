"""Imports only the submodules of a CDKTF provider package that are used.

The AWS provider's package imports its 1,500 submodules when it is imported, which takes 20 to 30 seconds.
`defer_submodules` puts the package into `sys.modules` without running its code, so that
`from cdktf_cdktf_provider_aws.kms_key import KmsKey` loads only that submodule. Type checkers see an ordinary
import and check every argument.
"""

import sys
from importlib.util import find_spec, module_from_spec


def defer_submodules(package: str) -> None:
    """Put a package into `sys.modules` without running its `__init__`; one already imported is kept.

    Nothing happens if it is not installed: what only reads settings does without it, such as a rollback.

    Args:
        package: Name of a top-level package.
    """
    spec = None if package in sys.modules else find_spec(package)
    if spec is not None:
        sys.modules[package] = module_from_spec(spec)
