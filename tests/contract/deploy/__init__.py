"""Deployers as processes, their rivals, and the parts of the AWS backend."""

import pytest

pytest.register_assert_rewrite("tests.contract.deploy.release_diamond", "tests.contract.deploy.rivals")
