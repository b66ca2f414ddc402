"""A table with its provisioner, the management API and nodes that use the documents, as `hifi` sees them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.contract.management.api_process import ApiProcess
from tests.harness.config_node import every_node
from tests.harness.provision_process import provisioned


@contextmanager
def managed(bootstrap: str, endpoint: str, folder: Path) -> Iterator[dict[str, str]]:
    """Run them over a table of their own; yields the settings of `hifi`."""
    with provisioned(bootstrap, endpoint, folder) as found:
        api = ApiProcess(
            folder,
            endpoint,
            found["HIFI_DOCUMENTS_TABLE"],
            allow_loopback="true",
            bootstrap=bootstrap,
        )
        try:
            with every_node(bootstrap):
                yield found | {
                    "HIFI_SERVER": f"http://127.0.0.1:{api.port}",
                    "HIFI_TOKEN": api.operator,
                    "HIFI_CONTEXTS": str(folder / "contexts.yaml"),
                }
        finally:
            api.kill()
