"""Every connector against destinations of its kind, on real sockets."""

import pytest

pytest.register_assert_rewrite("tests.contract.connectors.conformance")
