"""The IAM actions of a deployment, by kind of resource."""

DESCRIBE = (
    "acm:DescribeCertificate",
    "acm:GetCertificate",
    "acm:ListCertificates",
    "acm:ListTagsForCertificate",
    "application-autoscaling:Describe*",
    "application-autoscaling:ListTagsForResource",
    "autoscaling:Describe*",
    "cloudwatch:DescribeAlarms",
    "cloudwatch:ListTagsForResource",
    "codebuild:BatchGetProjects",
    "codestar-connections:GetConnection",
    "codestar-connections:ListConnections",
    "codestar-connections:ListTagsForResource",
    "ec2:Describe*",
    "ec2:GetSecurityGroupsForVpc",
    "ecr:DescribeImages",
    "eks:Describe*",
    "eks:List*",
    "elasticloadbalancing:Describe*",
    "iam:Get*",
    "iam:List*",
    "kafka:Describe*",
    "kafka:Get*",
    "kafka:List*",
    "kms:DescribeKey",
    "kms:ListAliases",
    "logs:DescribeLogGroups",
    "logs:DescribeResourcePolicies",
    "logs:GetLogDelivery",
    "logs:ListLogDeliveries",
    "logs:ListTagsForResource",
    "route53:Get*",
    "route53:List*",
    "sns:GetSubscriptionAttributes",
    "sns:GetTopicAttributes",
    "sns:ListSubscriptionsByTopic",
    "sns:ListTagsForResource",
)

PUSH_IMAGES = (
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:CompleteLayerUpload",
    "ecr:DescribeImageScanFindings",
    "ecr:GetDownloadUrlForLayer",
    "ecr:InitiateLayerUpload",
    "ecr:PutImage",
    "ecr:UploadLayerPart",
)

# These act on resources that do not exist yet, or that AWS created without our tag (a gateway's interface, a
# VPC's default security group), so a condition on our tag would never hold.
MAKE_NETWORK = (
    "ec2:AcceptVpcPeeringConnection",
    "ec2:AllocateAddress",
    "ec2:AssociateAddress",
    "ec2:AssociateRouteTable",
    "ec2:AttachInternetGateway",
    "ec2:AuthorizeSecurityGroupEgress",
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:CreateFlowLogs",
    "ec2:CreateInternetGateway",
    "ec2:CreateLaunchTemplate",
    "ec2:CreateLaunchTemplateVersion",
    "ec2:CreateNatGateway",
    "ec2:CreateRoute",
    "ec2:CreateRouteTable",
    "ec2:CreateSecurityGroup",
    "ec2:CreateSubnet",
    "ec2:CreateVpc",
    "ec2:CreateVpcEndpoint",
    "ec2:CreateVpcEndpointServiceConfiguration",
    "ec2:CreateVpcPeeringConnection",
    "ec2:DeleteNetworkInterface",
    "ec2:DisassociateAddress",
    "ec2:RevokeSecurityGroupEgress",
    "ec2:RevokeSecurityGroupIngress",
)

CHANGE_NETWORK = (
    "ec2:DeleteFlowLogs",
    "ec2:DeleteInternetGateway",
    "ec2:DeleteLaunchTemplate",
    "ec2:DeleteLaunchTemplateVersions",
    "ec2:DeleteNatGateway",
    "ec2:DeleteRoute",
    "ec2:DeleteRouteTable",
    "ec2:DeleteSecurityGroup",
    "ec2:DeleteSubnet",
    "ec2:DeleteTags",
    "ec2:DeleteVpc",
    "ec2:DeleteVpcEndpointServiceConfigurations",
    "ec2:DeleteVpcEndpoints",
    "ec2:DeleteVpcPeeringConnection",
    "ec2:DetachInternetGateway",
    "ec2:DisassociateRouteTable",
    "ec2:ModifyLaunchTemplate",
    "ec2:ModifySecurityGroupRules",
    "ec2:ModifySubnetAttribute",
    "ec2:ModifyVpcAttribute",
    "ec2:ModifyVpcEndpoint",
    "ec2:ModifyVpcEndpointServiceConfiguration",
    "ec2:ModifyVpcEndpointServicePermissions",
    "ec2:ReleaseAddress",
    "ec2:ReplaceRoute",
    "ec2:ReplaceRouteTableAssociation",
    "ec2:StartVpcEndpointServicePrivateDnsVerification",
    "ec2:UpdateSecurityGroupRuleDescriptionsEgress",
    "ec2:UpdateSecurityGroupRuleDescriptionsIngress",
)

MAKE_KAFKA = ("kafka:CreateCluster", "kafka:CreateClusterV2", "kafka:CreateConfiguration")

CHANGE_KAFKA = (
    "kafka:DeleteCluster",
    "kafka:DeleteConfiguration",
    "kafka:TagResource",
    "kafka:UntagResource",
    "kafka:UpdateBrokerCount",
    "kafka:UpdateBrokerStorage",
    "kafka:UpdateBrokerType",
    "kafka:UpdateClusterConfiguration",
    "kafka:UpdateClusterKafkaVersion",
    "kafka:UpdateConfiguration",
    "kafka:UpdateConnectivity",
    "kafka:UpdateMonitoring",
    "kafka:UpdateSecurity",
    "kafka:UpdateStorage",
)

CHANGE_SCALING_ALARMS = ("cloudwatch:DeleteAlarms", "cloudwatch:PutMetricAlarm")

SCALE_STORAGE = (
    "application-autoscaling:DeleteScalingPolicy",
    "application-autoscaling:DeregisterScalableTarget",
    "application-autoscaling:PutScalingPolicy",
    "application-autoscaling:RegisterScalableTarget",
    "application-autoscaling:TagResource",
    "application-autoscaling:UntagResource",
)

CHANGE_KUBERNETES = (
    "eks:AssociateAccessPolicy",
    "eks:AssociateEncryptionConfig",
    "eks:CreateAccessEntry",
    "eks:CreateAddon",
    "eks:CreateCluster",
    "eks:CreateNodegroup",
    "eks:CreatePodIdentityAssociation",
    "eks:DeleteAccessEntry",
    "eks:DeleteAddon",
    "eks:DeleteCluster",
    "eks:DeleteNodegroup",
    "eks:DeletePodIdentityAssociation",
    "eks:DisassociateAccessPolicy",
    "eks:TagResource",
    "eks:UntagResource",
    "eks:UpdateAccessEntry",
    "eks:UpdateAddon",
    "eks:UpdateClusterConfig",
    "eks:UpdateClusterVersion",
    "eks:UpdateNodegroupConfig",
    "eks:UpdateNodegroupVersion",
    "eks:UpdatePodIdentityAssociation",
)

# Actions that extend a role require the permissions boundary; the others only remove permissions or describe.
WIDEN_ROLES = ("iam:AttachRolePolicy", "iam:CreateRole", "iam:PutRolePolicy")

CHANGE_ROLES = (
    "iam:DeleteRole",
    "iam:DeleteRolePolicy",
    "iam:DetachRolePolicy",
    "iam:TagRole",
    "iam:UntagRole",
    "iam:UpdateAssumeRolePolicy",
    "iam:UpdateRole",
)

CHANGE_BALANCERS = (
    "elasticloadbalancing:AddTags",
    "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateLoadBalancer",
    "elasticloadbalancing:CreateRule",
    "elasticloadbalancing:CreateTargetGroup",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteRule",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyListenerAttributes",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyRule",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:ModifyTargetGroupAttributes",
    "elasticloadbalancing:RemoveTags",
    "elasticloadbalancing:SetRulePriorities",
    "elasticloadbalancing:SetSecurityGroups",
    "elasticloadbalancing:SetSubnets",
)

CHANGE_HEALTH_CHECKS = (
    "route53:ChangeTagsForResource",
    "route53:DeleteHealthCheck",
    "route53:UpdateHealthCheck",
)

CHANGE_ALARMS = (
    "cloudwatch:DeleteAlarms",
    "cloudwatch:PutMetricAlarm",
    "cloudwatch:TagResource",
    "cloudwatch:UntagResource",
)

CHANGE_TOPICS = (
    "sns:CreateTopic",
    "sns:DeleteTopic",
    "sns:SetTopicAttributes",
    "sns:Subscribe",
    "sns:TagResource",
    "sns:Unsubscribe",
    "sns:UntagResource",
)

CHANGE_LOG_GROUPS = (
    "logs:AssociateKmsKey",
    "logs:CreateLogGroup",
    "logs:DeleteLogGroup",
    "logs:DeleteRetentionPolicy",
    "logs:PutRetentionPolicy",
    "logs:TagResource",
    "logs:UntagResource",
)

# MSK sets the delivery of the brokers' logs up with the caller's permissions.
DELIVER_LOGS = (
    "logs:CreateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:PutResourcePolicy",
    "logs:UpdateLogDelivery",
)

CHANGE_RUNNERS = (
    "codebuild:CreateProject",
    "codebuild:CreateWebhook",
    "codebuild:DeleteProject",
    "codebuild:DeleteWebhook",
    "codebuild:UpdateProject",
    "codebuild:UpdateWebhook",
)

USE_CONNECTION = ("codestar-connections:PassConnection", "codestar-connections:UseConnection")
