"""Helm releases of the add-ons that EKS does not manage."""

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

from infra.components.kubernetes.cluster import Cluster
from infra.components.kubernetes.helm_charts import Chart

_READY_SECONDS = 600


class HelmReleases(Construct):
    """One Helm release for each chart."""

    def __init__(  # noqa: PLR0913 -- each a property of the releases
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
            name: Construct id in the stack.
            cluster: The EKS cluster to install them in.
            region: AWS region.
            charts: The charts to install.
            after: What their pods need: permissions, nodes, DNS. Destroyed after the releases.
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
                # A release that does not become ready is rolled back completely.
                atomic=True,
                cleanup_on_fail=True,
                timeout=_READY_SECONDS,
                max_history=5,
                depends_on=list(after),
            )


def _connection(cluster: Cluster, region: str) -> HelmProviderKubernetes:
    """Connection with a token requested on use: one in Terraform's state would expire before the next run."""
    return HelmProviderKubernetes(
        host=cluster.endpoint,
        cluster_ca_certificate=Fn.base64decode(cluster.certificate_authority),
        exec=HelmProviderKubernetesExec(
            api_version="client.authentication.k8s.io/v1beta1",
            command="aws",
            args=["eks", "get-token", "--cluster-name", cluster.name, "--region", region],
        ),
    )
