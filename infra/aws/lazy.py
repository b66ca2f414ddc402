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

    Args:
        package: Name of an installed top-level package.

    Raises:
        ModuleNotFoundError: The package is not installed.
    """
    if package in sys.modules:
        return
    spec = find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f"{package} is not installed; run: make setup", name=package)
    sys.modules[package] = module_from_spec(spec)
