# What a plan reads. Both roles may do this. Objects of the results bucket are not among it, and neither are parameters or secrets.
data "aws_iam_policy_document" "read" {
  #checkov:skip=CKV_AWS_356:IAM cannot limit these actions, which only describe, to a resource

  statement {
    sid = "ReadWhatTerraformDeclares"
    actions = [
      "autoscaling:Describe*",
      "ec2:Describe*",
      "ec2:GetInstanceUefiData",
      "iam:GetInstanceProfile",
      "iam:GetRole",
      "iam:GetRolePolicy",
      "iam:ListAttachedRolePolicies",
      "iam:ListInstanceProfilesForRole",
      "iam:ListRolePolicies",
      "kms:DescribeKey",
      "kms:GetKeyPolicy",
      "kms:GetKeyRotationStatus",
      "kms:ListAliases",
      "kms:ListResourceTags",
      "logs:DescribeLogGroups",
      "logs:ListTagsForResource",
      "pricing:GetProducts",
      "s3:ListAllMyBuckets",
      "servicequotas:GetServiceQuota",
      "servicequotas:GetAWSDefaultServiceQuota",
    ]
    resources = ["*"]
  }

  statement {
    sid       = "ReadTheSettingsOfTheBucket"
    actions   = ["s3:GetAccelerateConfiguration", "s3:GetBucket*", "s3:GetEncryptionConfiguration", "s3:GetLifecycleConfiguration", "s3:GetReplicationConfiguration", "s3:ListBucket"]
    resources = [local.bucket]
  }

  statement {
    sid = "ReadTheReaper"
    actions = [
      "events:DescribeRule",
      "events:ListTagsForResource",
      "events:ListTargetsByRule",
      "lambda:GetFunction",
      "lambda:GetFunctionCodeSigningConfig",
      "lambda:GetFunctionConfiguration",
      "lambda:GetPolicy",
      "lambda:ListTags",
      "lambda:ListVersionsByFunction",
    ]
    resources = local.reaper
  }

  statement {
    sid       = "ReadTheAlarms"
    actions   = ["cloudwatch:DescribeAlarms", "cloudwatch:ListTagsForResource", "sns:GetSubscriptionAttributes", "sns:GetTopicAttributes", "sns:ListTagsForResource"]
    resources = ["*"]
  }

  statement {
    sid       = "FindTheState"
    actions   = ["s3:ListBucket"]
    resources = [var.state.bucket_arn]
  }

  statement {
    sid       = "ReadTheState"
    actions   = ["s3:GetObject"]
    resources = ["${var.state.bucket_arn}/${var.state.key}"]
  }

  dynamic "statement" {
    for_each = var.state.kms_key_arn == null ? [] : [var.state.kms_key_arn]

    content {
      sid       = "DecryptTheState"
      actions   = ["kms:Decrypt"]
      resources = [statement.value]
    }
  }
}

resource "aws_iam_role_policy" "read" {
  for_each = local.subjects

  name   = "read"
  role   = aws_iam_role.this[each.key].id
  policy = data.aws_iam_policy_document.read.json
}
