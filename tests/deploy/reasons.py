"""Actions that the workflows' roles may use although the local deployment does not, with the reasons."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_IN_PLACE: Final = "a change in place, which creating and destroying do not show"
_FOR_SERVICES: Final = "AWS checks it of the caller for whom a service acts"
_STATE: Final = "the state is in its bucket, and in a folder in the local deployment"
_WORKFLOWS: Final = "a step of the workflows that is not Terraform"
_INTERNAL: Final = "exposure internal: PrivateLink, while local is on the internet"
_MAILS: Final = "mail subscriptions of alarms, of which local has none"
_OF_PROVIDER: Final = "the provider calls one of two names of it, by version or by what it finds"

_BY_REASON: Final = {
    _IN_PLACE: """
        application-autoscaling:TagResource application-autoscaling:UntagResource
        cloudwatch:TagResource cloudwatch:UntagResource codebuild:UpdateProject codebuild:UpdateWebhook
        ec2:CreateLaunchTemplateVersion ec2:DeleteLaunchTemplateVersions ec2:DeleteTags
        ec2:ModifyLaunchTemplate ec2:ModifySecurityGroupRules ec2:ModifySubnetAttribute
        ec2:ModifyVpcEndpoint ec2:ReplaceRoute ec2:ReplaceRouteTableAssociation
        ec2:UpdateSecurityGroupRuleDescriptionsEgress ec2:UpdateSecurityGroupRuleDescriptionsIngress
        eks:AssociateEncryptionConfig eks:TagResource eks:UntagResource eks:UpdateAccessEntry
        eks:UpdateAddon eks:UpdateClusterConfig eks:UpdateClusterVersion eks:UpdateNodegroupConfig
        eks:UpdateNodegroupVersion eks:UpdatePodIdentityAssociation elasticloadbalancing:ModifyListener
        elasticloadbalancing:AddTags
        elasticloadbalancing:ModifyListenerAttributes elasticloadbalancing:ModifyRule
        elasticloadbalancing:ModifyTargetGroup elasticloadbalancing:SetRulePriorities
        elasticloadbalancing:RemoveTags elasticloadbalancing:SetSecurityGroups
        elasticloadbalancing:SetSubnets iam:TagRole iam:UntagRole iam:UpdateAssumeRolePolicy iam:UpdateRole
        kafka:TagResource kafka:UntagResource kafka:UpdateBrokerCount kafka:UpdateBrokerStorage
        kafka:UpdateBrokerType kafka:UpdateClusterConfiguration kafka:UpdateClusterKafkaVersion
        kafka:UpdateConfiguration kafka:UpdateConnectivity kafka:UpdateMonitoring kafka:UpdateSecurity
        kafka:UpdateStorage logs:AssociateKmsKey logs:DeleteRetentionPolicy logs:TagResource
        logs:UntagResource route53:UpdateHealthCheck sns:TagResource
        sns:UntagResource""",
    _FOR_SERVICES: """
        codestar-connections:PassConnection codestar-connections:UseConnection ec2:RunInstances
        iam:CreateServiceLinkedRole iam:PassRole kms:CreateGrant logs:CreateLogDelivery
        logs:DeleteLogDelivery logs:DescribeResourcePolicies logs:GetLogDelivery logs:ListLogDeliveries
        logs:PutResourcePolicy logs:UpdateLogDelivery route53:AssociateVPCWithHostedZone""",
    _STATE: """
        kms:Decrypt kms:Encrypt kms:GenerateDataKey s3:DeleteObject s3:GetObject s3:ListBucket
        s3:PutObject""",
    _WORKFLOWS: """
        dynamodb:ConditionCheckItem dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query
        ecr:BatchCheckLayerAvailability ecr:BatchGetImage ecr:CompleteLayerUpload
        ecr:DescribeImageScanFindings ecr:DescribeImages ecr:GetAuthorizationToken
        ecr:GetDownloadUrlForLayer ecr:InitiateLayerUpload ecr:PutImage ecr:UploadLayerPart
        ssm:PutParameter""",
    _INTERNAL: """
        ec2:CreateVpcEndpointServiceConfiguration ec2:DeleteVpcEndpointServiceConfigurations
        ec2:ModifyVpcEndpointServiceConfiguration ec2:ModifyVpcEndpointServicePermissions
        ec2:StartVpcEndpointServicePrivateDnsVerification""",
    _MAILS: "sns:GetSubscriptionAttributes sns:ListSubscriptionsByTopic sns:Subscribe sns:Unsubscribe",
    _OF_PROVIDER: """
        codestar-connections:GetConnection ec2:AssociateAddress ec2:DeleteNetworkInterface
        ec2:DisassociateAddress
        ec2:GetSecurityGroupsForVpc kafka:CreateClusterV2 kafka:List*""",
}

UNCALLED: Final[Mapping[str, str]] = MappingProxyType(
    {action: reason for reason, actions in _BY_REASON.items() for action in actions.split()}
)

BY_FINDING: Final = frozenset(_BY_REASON[_OF_PROVIDER].split())
"""Actions of which the provider calls different ones in each run, depending on what it finds."""
