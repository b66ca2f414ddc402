"""A side's nodes: EKS managed node groups, sized by the Cluster Autoscaler."""

from collections.abc import Mapping, Sequence

from cdktf import ITerraformDependable, TerraformResourceLifecycle
from cdktf_cdktf_provider_aws.autoscaling_group_tag import AutoscalingGroupTagA, AutoscalingGroupTagTag
from cdktf_cdktf_provider_aws.eks_node_group import (
    EksNodeGroup,
    EksNodeGroupLaunchTemplate,
    EksNodeGroupScalingConfig,
    EksNodeGroupTaint,
    EksNodeGroupUpdateConfig,
)
from cdktf_cdktf_provider_aws.launch_template import (
    LaunchTemplate,
    LaunchTemplateBlockDeviceMappings,
    LaunchTemplateBlockDeviceMappingsEbs,
    LaunchTemplateMetadataOptions,
    LaunchTemplateTagSpecifications,
)
from constructs import Construct

from infra.components.identity.pod_identities import ClusterContext
from infra.components.identity.role import Role, Trust
from infra.components.kubernetes.node_pools import POOL, Pool, autoscaler_tags

_NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")


class NodeGroups(Construct):
    """One node group for each pool, and one role for all nodes; pods have roles of their own."""

    def __init__(  # noqa: PLR0913 -- each a property of the nodes
        self,
        scope: Construct,
        name: str,
        *,
        cluster: ClusterContext,
        pools: Sequence[Pool],
        subnet_ids: Sequence[str],
        security_group_ids: Sequence[str],
        key_arn: str,
        version: str,
        tags: Mapping[str, str],
        after: Sequence[ITerraformDependable] = (),
    ) -> None:
        """Declare the node groups.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster: The EKS cluster.
            pools: The node groups to declare.
            subnet_ids: Private subnets, one a zone.
            security_group_ids: Security groups of every node, the cluster's own among them.
            key_arn: KMS key of the volumes.
            version: Kubernetes version, the same as the control plane's.
            tags: Tags of instances and volumes; the provider's default tags do not reach these.
            after: Resources that nodes need to become ready.
        """
        super().__init__(scope, name)
        self._cluster = cluster
        self._subnet_ids, self._security_group_ids = list(subnet_ids), list(security_group_ids)
        self._key_arn, self._version, self._tags = key_arn, version, dict(tags)
        self._role = Role(
            self,
            "role",
            role_name=f"{cluster.prefix}-node",
            boundary_arn=cluster.boundary_arn,
            trust=Trust(service="ec2.amazonaws.com"),
            managed=_NODE_POLICIES,
        )
        self.groups: list[ITerraformDependable] = [self._pool(pool, after) for pool in pools]

    def _pool(self, pool: Pool, after: Sequence[ITerraformDependable]) -> EksNodeGroup:
        template = self._template(pool)
        group = EksNodeGroup(
            self,
            pool.name,
            cluster_name=self._cluster.cluster_name,
            # A prefix, so that a replacement is created and ready before the old group is destroyed.
            node_group_name_prefix=f"{pool.name}-",
            node_role_arn=self._role.arn,
            subnet_ids=self._subnet_ids,
            version=self._version,
            ami_type=pool.image,
            capacity_type=pool.capacity,
            instance_types=pool.group.instance_types,
            labels=pool.labels,
            taint=_taints(pool),
            scaling_config=EksNodeGroupScalingConfig(
                min_size=pool.group.minimum, max_size=pool.group.maximum, desired_size=pool.group.minimum
            ),
            update_config=EksNodeGroupUpdateConfig(max_unavailable_percentage=33),
            launch_template=EksNodeGroupLaunchTemplate(
                id=template.id, version=f"${{{template.fqn}.latest_version}}"
            ),
            lifecycle=TerraformResourceLifecycle(
                create_before_destroy=True,
                ignore_changes=["scaling_config[0].desired_size"],  # set by the autoscaler
            ),
            depends_on=[*self._role.grants, *after],
        )
        self._tag(pool, group)
        return group

    def _template(self, pool: Pool) -> LaunchTemplate:
        name = f"{self._cluster.prefix}-{pool.name}"
        volume = LaunchTemplateBlockDeviceMappingsEbs(
            volume_type="gp3",
            volume_size=pool.group.disk_gib,
            encrypted="true",
            kms_key_id=self._key_arn,
            delete_on_termination="true",
        )
        return LaunchTemplate(
            self,
            f"{pool.name}-template",
            name=name,
            update_default_version=True,
            vpc_security_group_ids=self._security_group_ids,
            block_device_mappings=[LaunchTemplateBlockDeviceMappings(device_name="/dev/xvda", ebs=volume)],
            # A hop limit of one ends at the node, so pods cannot get the credentials of the node's role.
            metadata_options=LaunchTemplateMetadataOptions(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
            ),
            tag_specifications=[
                LaunchTemplateTagSpecifications(resource_type=kind, tags=self._tags | {"Name": name})
                for kind in ("instance", "volume")
            ],
        )

    def _tag(self, pool: Pool, group: EksNodeGroup) -> None:
        """Tag the Auto Scaling group, since EKS does not pass a node group's tags on to it."""
        scaling_group = group.resources.get(0).autoscaling_groups.get(0).name
        for position, (key, value) in enumerate(autoscaler_tags(pool, self._cluster.prefix).items()):
            AutoscalingGroupTagA(
                self,
                f"{pool.name}-tag-{position}",
                autoscaling_group_name=scaling_group,
                tag=AutoscalingGroupTagTag(key=key, value=value, propagate_at_launch=False),
            )


def _taints(pool: Pool) -> list[EksNodeGroupTaint] | None:
    return [EksNodeGroupTaint(key=POOL, value=pool.name, effect="NO_SCHEDULE")] if pool.reserved else None
