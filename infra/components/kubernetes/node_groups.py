"""A side's nodes: EKS managed node groups, sized by the Cluster Autoscaler."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdktf import ITerraformDependable, TerraformResourceLifecycle
from cdktf_cdktf_provider_aws.autoscaling_group_tag import AutoscalingGroupTagA, AutoscalingGroupTagTag
from cdktf_cdktf_provider_aws.eks_node_group import (
    EksNodeGroup,
    EksNodeGroupLaunchTemplate,
    EksNodeGroupNodeRepairConfig,
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
from infra.sizes import ZONES


@dataclass(frozen=True, kw_only=True)
class ZoneSubnet:
    """The private subnet of a zone.

    Attributes:
        subnet_id: Id of the subnet.
        zone: Name of the zone, such as `eu-west-1a`.
    """

    subnet_id: str
    zone: str

    @property
    def letter(self) -> str:
        """Letter of the zone."""
        return self.zone[-1]


_NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")


class NodeGroups(Construct):
    """A node group for each pool in each zone, and one role for all nodes; pods have roles of their own.

    In a group over several zones the zone of the next node cannot be chosen: a pod with a volume in one zone,
    or one that must spread, could wait for ever.
    """

    def __init__(  # noqa: PLR0913 -- each a property of the nodes
        self,
        scope: Construct,
        name: str,
        *,
        cluster: ClusterContext,
        pools: Sequence[Pool],
        subnets: Sequence[ZoneSubnet],
        security_group_ids: Sequence[str],
        key_arn: str,
        version: str,
        release: str,
        tags: Mapping[str, str],
        after: Sequence[ITerraformDependable] = (),
    ) -> None:
        """Declare the node groups.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster: The EKS cluster.
            pools: The node groups to declare.
            subnets: Private subnets, one a zone.
            security_group_ids: Security groups of every node, the cluster's own among them.
            key_arn: KMS key of the volumes.
            version: Kubernetes version, the same as the control plane's.
            release: Release of the nodes' image.
            tags: Tags of instances and volumes; the provider's default tags do not reach these.
            after: Resources that nodes need to become ready.
        """
        super().__init__(scope, name)
        self._cluster = cluster
        self._subnets, self._security_group_ids = list(subnets), list(security_group_ids)
        self._key_arn, self._version, self._release, self._tags = key_arn, version, release, dict(tags)
        self._role = Role(
            self,
            "role",
            role_name=f"{cluster.prefix}-node",
            boundary_arn=cluster.boundary_arn,
            trust=Trust(service="ec2.amazonaws.com"),
            managed=_NODE_POLICIES,
        )
        self.scaling_groups: dict[str, str] = {}
        """Names of the Auto Scaling groups, by the names of pool and zone."""

        self.groups: list[ITerraformDependable] = [
            group for pool in pools for group in self._pool(pool, after)
        ]

    def _pool(self, pool: Pool, after: Sequence[ITerraformDependable]) -> list[EksNodeGroup]:
        template = self._template(pool)
        return [self._group(pool, subnet, template, after) for subnet in self._subnets]

    def _group(
        self,
        pool: Pool,
        subnet: ZoneSubnet,
        template: LaunchTemplate,
        after: Sequence[ITerraformDependable],
    ) -> EksNodeGroup:
        name = f"{pool.name}-{subnet.letter}"
        least, most = pool.group.minimum // ZONES, pool.group.maximum // ZONES
        group = EksNodeGroup(
            self,
            name,
            cluster_name=self._cluster.cluster_name,
            # A prefix, so that a replacement is created and ready before the old group is destroyed.
            node_group_name_prefix=f"{name}-",
            node_role_arn=self._role.arn,
            subnet_ids=[subnet.subnet_id],
            version=self._version,
            release_version=self._release,
            ami_type=pool.image,
            capacity_type=pool.capacity,
            instance_types=pool.group.instance_types,
            labels=pool.labels,
            taint=_taints(pool),
            scaling_config=EksNodeGroupScalingConfig(min_size=least, max_size=most, desired_size=least),
            # EKS replaces a node whose kubelet is not ready; it sees no more without its monitoring agent.
            node_repair_config=EksNodeGroupNodeRepairConfig(enabled=True),
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
        self._tag(pool, subnet, group)
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

    def _tag(self, pool: Pool, subnet: ZoneSubnet, group: EksNodeGroup) -> None:
        """Tag the Auto Scaling group, since EKS does not pass a node group's tags on to it."""
        scaling_group = group.resources.get(0).autoscaling_groups.get(0).name
        self.scaling_groups[f"{pool.name}-{subnet.letter}"] = scaling_group
        tags = AutoscalingGroupTagA(
            self,
            f"{pool.name}-{subnet.letter}-tags",
            autoscaling_group_name=scaling_group,
            tag=AutoscalingGroupTagTag(key="${each.key}", value="${each.value}", propagate_at_launch=False),
        )
        # One resource for all tags of a group: a construct for each would double the time of a synthesis.
        tags.add_override("for_each", dict(autoscaler_tags(pool, self._cluster.prefix, subnet.zone)))


def _taints(pool: Pool) -> list[EksNodeGroupTaint] | None:
    return (
        [EksNodeGroupTaint(key=POOL, value=pool.workloads, effect="NO_SCHEDULE")] if pool.reserved else None
    )
