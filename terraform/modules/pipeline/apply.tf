# What an apply changes beyond reading. The role can make roles for the nodes and hand them to EC2, so who may apply may in the end
# do what the account's administrators may. That is why a merged review, acknowledgements and the environment's reviewers come first.
data "aws_iam_policy_document" "apply" {
  #checkov:skip=CKV_AWS_111:What EC2, Auto Scaling and KMS make has no name before it is made; the condition limits it to the region
  #checkov:skip=CKV_AWS_356:What EC2, Auto Scaling and KMS make has no name before it is made; the condition limits it to the region
  #checkov:skip=CKV_AWS_109:The role makes the roles of the nodes, by their exact names, and may not touch its own

  statement {
    sid = "MakeTheFleet"
    actions = [
      "autoscaling:AttachInstances",
      "autoscaling:CreateAutoScalingGroup",
      "autoscaling:CreateOrUpdateTags",
      "autoscaling:DeleteAutoScalingGroup",
      "autoscaling:DeleteTags",
      "autoscaling:DisableMetricsCollection",
      "autoscaling:EnableMetricsCollection",
      "autoscaling:ResumeProcesses",
      "autoscaling:SetDesiredCapacity",
      "autoscaling:SetInstanceProtection",
      "autoscaling:SuspendProcesses",
      "autoscaling:TerminateInstanceInAutoScalingGroup",
      "autoscaling:UpdateAutoScalingGroup",
      "ec2:CreateLaunchTemplate",
      "ec2:CreateLaunchTemplateVersion",
      "ec2:CreatePlacementGroup",
      "ec2:CreateTags",
      "ec2:DeleteKeyPair",
      "ec2:DeleteLaunchTemplate",
      "ec2:DeleteLaunchTemplateVersions",
      "ec2:DeletePlacementGroup",
      "ec2:DeleteTags",
      "ec2:GetLaunchTemplateData",
      "ec2:ImportKeyPair",
      "ec2:ModifyInstanceAttribute",
      "ec2:ModifyInstanceMetadataOptions",
      "ec2:ModifyLaunchTemplate",
      "ec2:ModifyVolume",
      "ec2:MonitorInstances",
      "ec2:RunInstances",
      "ec2:StartInstances",
      "ec2:StopInstances",
      "ec2:TerminateInstances",
      "ec2:UnmonitorInstances",
    ]
    resources = ["*"]

    condition {
      test     = "StringEquals"
      variable = "aws:RequestedRegion"
      values   = [var.region]
    }
  }

  statement {
    sid = "MakeTheNetwork"
    actions = [
      "ec2:AllocateAddress",
      "ec2:AssociateAddress",
      "ec2:AssociateRouteTable",
      "ec2:AttachInternetGateway",
      "ec2:AuthorizeSecurityGroupEgress",
      "ec2:AuthorizeSecurityGroupIngress",
      "ec2:CreateFlowLogs",
      "ec2:CreateInternetGateway",
      "ec2:CreateNatGateway",
      "ec2:CreateRoute",
      "ec2:CreateRouteTable",
      "ec2:CreateSecurityGroup",
      "ec2:CreateSubnet",
      "ec2:CreateVpc",
      "ec2:CreateVpcEndpoint",
      "ec2:DeleteFlowLogs",
      "ec2:DeleteInternetGateway",
      "ec2:DeleteNatGateway",
      "ec2:DeleteRoute",
      "ec2:DeleteRouteTable",
      "ec2:DeleteSecurityGroup",
      "ec2:DeleteSubnet",
      "ec2:DeleteVpc",
      "ec2:DeleteVpcEndpoints",
      "ec2:DetachInternetGateway",
      "ec2:DetachNetworkInterface",
      "ec2:DisassociateAddress",
      "ec2:DisassociateRouteTable",
      "ec2:ModifySecurityGroupRules",
      "ec2:ModifySubnetAttribute",
      "ec2:ModifyVpcAttribute",
      "ec2:ModifyVpcEndpoint",
      "ec2:ReleaseAddress",
      "ec2:ReplaceRoute",
      "ec2:ReplaceRouteTableAssociation",
      "ec2:RevokeSecurityGroupEgress",
      "ec2:RevokeSecurityGroupIngress",
    ]
    resources = ["*"]

    condition {
      test     = "StringEquals"
      variable = "aws:RequestedRegion"
      values   = [var.region]
    }
  }

  statement {
    sid = "MakeTheRolesOfTheNodes"
    actions = [
      "iam:AddRoleToInstanceProfile",
      "iam:CreateInstanceProfile",
      "iam:CreateRole",
      "iam:DeleteInstanceProfile",
      "iam:DeleteRole",
      "iam:DeleteRolePolicy",
      "iam:PutRolePolicy",
      "iam:RemoveRoleFromInstanceProfile",
      "iam:TagInstanceProfile",
      "iam:TagRole",
      "iam:UntagInstanceProfile",
      "iam:UntagRole",
      "iam:UpdateAssumeRolePolicy",
      "iam:UpdateRole",
      "iam:UpdateRoleDescription",
    ]
    resources = concat(local.node_roles, local.profiles, [local.logs_role, local.reaper_role])
  }

  statement {
    sid       = "HandTheRolesToWhatUsesThem"
    actions   = ["iam:PassRole"]
    resources = concat(local.node_roles, [local.logs_role, local.reaper_role])

    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["ec2.amazonaws.com", "lambda.amazonaws.com", "vpc-flow-logs.amazonaws.com"]
    }
  }

  statement {
    sid       = "LetAwsMakeItsOwnRoles"
    actions   = ["iam:CreateServiceLinkedRole"]
    resources = ["${local.iam}:role/aws-service-role/*"]

    condition {
      test     = "StringEquals"
      variable = "iam:AWSServiceName"
      values   = ["autoscaling.amazonaws.com", "spot.amazonaws.com"]
    }
  }

  statement {
    sid = "MakeTheBucket"
    actions = [
      "s3:CreateBucket",
      "s3:DeleteBucket",
      "s3:DeleteBucketPolicy",
      "s3:DeleteObject",
      "s3:DeleteObjectVersion",
      "s3:ListBucketVersions",
      "s3:PutBucketOwnershipControls",
      "s3:PutBucketPolicy",
      "s3:PutBucketPublicAccessBlock",
      "s3:PutBucketTagging",
      "s3:PutBucketVersioning",
      "s3:PutEncryptionConfiguration",
      "s3:PutLifecycleConfiguration",
    ]
    resources = [local.bucket, "${local.bucket}/*"]
  }

  # One command at a time changes the cluster: an apply takes its lease, which lies in the bucket.
  statement {
    sid       = "HoldTheLease"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = ["${local.bucket}/control/lease.json"]
  }

  statement {
    sid       = "EncryptTheLease"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = ["arn:${local.partition}:kms:${var.region}:${local.account}:key/*"]

    condition {
      test     = "StringEquals"
      variable = "aws:RequestedRegion"
      values   = [var.region]
    }

    condition {
      test     = "ForAnyValue:StringEquals"
      variable = "kms:ResourceAliases"
      values   = ["alias/${var.cluster}"]
    }
  }

  statement {
    sid = "MakeTheKey"
    actions = [
      "kms:CreateAlias",
      "kms:CreateKey",
      "kms:DeleteAlias",
      "kms:EnableKeyRotation",
      "kms:PutKeyPolicy",
      "kms:ScheduleKeyDeletion",
      "kms:TagResource",
      "kms:UntagResource",
      "kms:UpdateAlias",
      "kms:UpdateKeyDescription",
    ]
    resources = ["*"]

    condition {
      test     = "StringEquals"
      variable = "aws:RequestedRegion"
      values   = [var.region]
    }
  }

  statement {
    sid = "MakeTheLogs"
    actions = [
      "logs:AssociateKmsKey",
      "logs:CreateLogDelivery",
      "logs:CreateLogGroup",
      "logs:DeleteLogDelivery",
      "logs:DeleteLogGroup",
      "logs:DisassociateKmsKey",
      "logs:PutRetentionPolicy",
      "logs:TagResource",
      "logs:UntagResource",
    ]
    resources = [for groups in ["", ":*", "/*"] : "arn:${local.partition}:logs:${var.region}:${local.account}:log-group:/centavo/${var.cluster}${groups}"]
  }

  statement {
    sid = "MakeTheAlarms"
    actions = [
      "cloudwatch:DeleteAlarms",
      "cloudwatch:PutMetricAlarm",
      "cloudwatch:TagResource",
      "cloudwatch:UntagResource",
      "sns:CreateTopic",
      "sns:DeleteTopic",
      "sns:SetTopicAttributes",
      "sns:Subscribe",
      "sns:TagResource",
      "sns:UntagResource",
    ]
    resources = [
      "arn:${local.partition}:cloudwatch:${var.region}:${local.account}:alarm:${var.cluster}-*",
      "arn:${local.partition}:sns:${var.region}:${local.account}:${var.cluster}-alarms*",
    ]
  }

  # IAM takes no resource for these.
  statement {
    sid       = "MakeAlarmsOfAlarmsAndEndSubscriptions"
    actions   = ["cloudwatch:PutCompositeAlarm", "sns:SetSubscriptionAttributes", "sns:Unsubscribe"]
    resources = ["*"]

    condition {
      test     = "StringEquals"
      variable = "aws:RequestedRegion"
      values   = [var.region]
    }
  }

  statement {
    sid = "MakeTheReaper"
    actions = [
      "events:DeleteRule",
      "events:PutRule",
      "events:PutTargets",
      "events:RemoveTargets",
      "events:TagResource",
      "events:UntagResource",
      "lambda:AddPermission",
      "lambda:CreateFunction",
      "lambda:DeleteFunction",
      "lambda:RemovePermission",
      "lambda:TagResource",
      "lambda:UntagResource",
      "lambda:UpdateFunctionCode",
      "lambda:UpdateFunctionConfiguration",
    ]
    resources = local.reaper
  }

  statement {
    sid       = "WriteTheState"
    actions   = ["s3:PutObject"]
    resources = ["${var.state.bucket_arn}/${var.state.key}"]
  }

  statement {
    sid       = "LockTheState"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    resources = ["${var.state.bucket_arn}/${var.state.key}.tflock"]
  }

  dynamic "statement" {
    for_each = var.state.kms_key_arn == null ? [] : [var.state.kms_key_arn]

    content {
      sid       = "EncryptTheState"
      actions   = ["kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }

  # No statement above allows this. It holds also where somebody names a cluster like the pipeline, or allows more later.
  statement {
    sid       = "NeverChangeThePipelineItself"
    effect    = "Deny"
    actions   = ["iam:Add*", "iam:Attach*", "iam:Create*", "iam:Delete*", "iam:Detach*", "iam:PassRole", "iam:Put*", "iam:Remove*", "iam:Update*"]
    resources = concat([for role in keys(local.subjects) : "${local.iam}:role/${var.name}-${role}"], [local.provider_arn])
  }
}

resource "aws_iam_role_policy" "apply" {
  name   = "apply"
  role   = aws_iam_role.this["apply"].id
  policy = data.aws_iam_policy_document.apply.json
}
