"""The add-ons that hifi brings itself, as Helm releases."""

import json
from collections.abc import Sequence

from cdktf import Fn, ITerraformDependable
from cdktf_cdktf_provider_helm.provider import (
    HelmProvider,
    HelmProviderKubernetes,
    HelmProviderKubernetesExec,
)
from cdktf_cdktf_provider_helm.release import Release
from constructs import Construct

from infra.components.charts import Chart
from infra.components.cluster import Cluster

_READY_SECONDS = 600


class Addons(Construct):
    """One Helm release a chart."""

    def __init__(  # noqa: PLR0913 -- keywords, each a fact of the releases
        self,
        scope: Construct,
        name: str,
        *,
        cluster: Cluster,
        region: str,
        charts: Sequence[Chart],
        after: Sequence[ITerraformDependable],
    ) -> None:
        """Declare provider and releases.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            cluster: Where they run.
            region: AWS region.
            charts: What is installed.
            after: What their pods need: rights, nodes, DNS. A destroy takes the releases first.
        """
        super().__init__(scope, name)
        HelmProvider(self, "helm", kubernetes=_connection(cluster, region))
        for chart in charts:
            Release(
                self,
                chart.name,
                name=chart.name,
                repository=chart.repository,
                chart=chart.name,
                version=chart.version,
                namespace=chart.namespace,
                create_namespace=True,
                values=[json.dumps(chart.values)],
                # A release that does not become ready is taken back whole.
                atomic=True,
                cleanup_on_fail=True,
                timeout=_READY_SECONDS,
                max_history=5,
                depends_on=list(after),
            )


def _connection(cluster: Cluster, region: str) -> HelmProviderKubernetes:
    """A token made when it is needed: one in Terraform's state would be old at the next run."""
    return HelmProviderKubernetes(
        host=cluster.endpoint,
        cluster_ca_certificate=Fn.base64decode(cluster.certificate_authority),
        exec=HelmProviderKubernetesExec(
            api_version="client.authentication.k8s.io/v1beta1",
            command="aws",
            args=["eks", "get-token", "--cluster-name", cluster.name, "--region", region],
        ),
    )
