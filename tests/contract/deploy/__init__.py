"""Deployers as they are run: processes, rivals, AWS's parts."""

import pytest

pytest.register_assert_rewrite("tests.contract.deploy.release_diamond", "tests.contract.deploy.rivals")
