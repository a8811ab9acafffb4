locals {
  roles = toset(var.profiles == null ? ["head", "worker"] : [])

  # What belongs to this account in this region. Conditions limit it to what has the cluster's tag.
  here      = "${data.aws_region.this.name}:${data.aws_caller_identity.this.account_id}"
  groups    = "arn:${data.aws_partition.this.partition}:autoscaling:${local.here}:autoScalingGroup:*:autoScalingGroupName/*"
  instances = "arn:${data.aws_partition.this.partition}:ec2:${local.here}:instance/*"
}

data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_region" "this" {}

# The plan fails when there is no such profile.
data "aws_iam_instance_profile" "existing" {
  for_each = var.profiles == null ? {} : var.profiles

  name = each.value
}

resource "aws_key_pair" "this" {
  key_name   = var.name
  public_key = var.ssh_public_key

  tags = merge(var.tags, { Name = var.name })
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "this" {
  for_each = local.roles

  name               = "${var.name}-${each.key}"
  description        = "What the ${each.key} of ${var.name} may do"
  assume_role_policy = data.aws_iam_policy_document.assume.json

  tags = merge(var.tags, { Name = "${var.name}-${each.key}" })
}

resource "aws_iam_instance_profile" "this" {
  for_each = local.roles

  name = "${var.name}-${each.key}"
  role = aws_iam_role.this[each.key].name

  tags = merge(var.tags, { Name = "${var.name}-${each.key}" })
}

data "aws_iam_policy_document" "bucket" {
  statement {
    sid       = "ListCheckpointsAndResults"
    actions   = ["s3:ListBucket", "s3:ListBucketMultipartUploads"]
    resources = [var.bucket_arn]
  }

  # A node may delete a checkpoint, but not its versions. The bucket keeps the deleted checkpoint as an old version.
  statement {
    sid       = "ReadAndWriteCheckpointsAndResults"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
    resources = ["${var.bucket_arn}/*"]
  }

  # Every node lets in whose SSH key lies here (controller/warden/admitting/keys.py). No node says who that is, so the key of a controller
  # on the head is brought here by whoever hands the run over.
  statement {
    sid       = "WriteNoKeysOfPeople"
    effect    = "Deny"
    actions   = ["s3:PutObject", "s3:DeleteObject"]
    resources = ["${var.bucket_arn}/control/keys/*"]
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      sid       = "UseTheBucketsKey"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }
}

resource "aws_iam_role_policy" "bucket" {
  for_each = local.roles

  name   = "bucket"
  role   = aws_iam_role.this[each.key].id
  policy = data.aws_iam_policy_document.bucket.json
}

# The dead man's switch on a node (controller/warden). The head empties the cluster's groups and ends itself.
data "aws_iam_policy_document" "head_warden" {
  #checkov:skip=CKV_AWS_111:Actions that only describe take no resource
  #checkov:skip=CKV_AWS_356:Actions that only describe take no resource

  statement {
    sid       = "SeeTheGroups"
    actions   = ["autoscaling:DescribeAutoScalingGroups", "ec2:DescribeInstances"]
    resources = ["*"] # IAM cannot limit these actions to a resource.
  }

  statement {
    sid       = "EmptyTheClustersGroups"
    actions   = ["autoscaling:SetDesiredCapacity", "autoscaling:SetInstanceProtection"]
    resources = [local.groups]

    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/centavo:cluster"
      values   = [var.name]
    }
  }

  statement {
    sid       = "EndTheHead"
    actions   = ["ec2:StopInstances", "ec2:TerminateInstances"]
    resources = [local.instances]

    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/centavo:cluster"
      values   = [var.name]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/centavo:role"
      values   = ["head"]
    }
  }
}

# A worker ends itself, with its group's capacity lowered.
data "aws_iam_policy_document" "worker_warden" {
  statement {
    sid       = "EndTheWorker"
    actions   = ["autoscaling:TerminateInstanceInAutoScalingGroup"]
    resources = [local.groups]

    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/centavo:cluster"
      values   = [var.name]
    }
  }
}

resource "aws_iam_role_policy" "warden" {
  for_each = local.roles

  name   = "warden"
  role   = aws_iam_role.this[each.key].id
  policy = each.key == "head" ? data.aws_iam_policy_document.head_warden.json : data.aws_iam_policy_document.worker_warden.json
}

# The log group is Terraform's to make. Nodes make streams in it, and add to them.
data "aws_iam_policy_document" "logs" {
  statement {
    sid       = "WriteTheLogsOfRuns"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${var.log_group_arn}:*"]
  }
}

resource "aws_iam_role_policy" "logs" {
  for_each = local.roles

  name   = "logs"
  role   = aws_iam_role.this[each.key].id
  policy = data.aws_iam_policy_document.logs.json
}

# A controller on the head (`--detach`) reads what Terraform has made, and changes the number of workers. It can't make, replace or
# remove anything, change a launch template, or hand a role to anything.
resource "aws_iam_role_policy" "controller" {
  count = var.profiles == null && var.controller != null ? 1 : 0

  name   = "controller"
  role   = aws_iam_role.this["head"].id
  policy = templatefile("${path.module}/controller.json.tftpl", { cluster = var.name, bucket_arn = var.bucket_arn })
}

# Terraform's state may lie in a bucket of its own. Terraform locks it with an object beside it.
data "aws_iam_policy_document" "state" {
  count = try(var.controller.state_bucket, null) == null ? 0 : 1

  statement {
    sid       = "FindTheState"
    actions   = ["s3:ListBucket"]
    resources = ["arn:*:s3:::${var.controller.state_bucket}"]
  }

  statement {
    sid       = "ReadAndWriteTheState"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = ["arn:*:s3:::${var.controller.state_bucket}/${var.controller.state_key}"]
  }

  statement {
    sid       = "LockTheState"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    resources = ["arn:*:s3:::${var.controller.state_bucket}/${var.controller.state_key}.tflock"]
  }

  statement {
    sid       = "UseTheStatesKey"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = ["arn:*:kms:*:*:key/*"]

    condition {
      test     = "ForAnyValue:StringEquals"
      variable = "kms:ResourceAliases"
      values   = ["alias/${var.controller.state_key_alias}"]
    }
  }
}

resource "aws_iam_role_policy" "state" {
  count = var.profiles == null ? length(data.aws_iam_policy_document.state) : 0

  name   = "state"
  role   = aws_iam_role.this["head"].id
  policy = data.aws_iam_policy_document.state[0].json
}

# Systems Manager opens sessions on the head only. The policy of AWS for this purpose, AmazonSSMManagedInstanceCore, also allows
# reading every parameter of the account. This policy allows the sessions and nothing else.
data "aws_iam_policy_document" "session" {
  #checkov:skip=CKV_AWS_111:Systems Manager's session actions take no resource
  #checkov:skip=CKV_AWS_356:Systems Manager's session actions take no resource

  statement {
    sid = "AnswerSessions"
    actions = [
      "ssm:UpdateInstanceInformation",
      "ssmmessages:CreateControlChannel",
      "ssmmessages:CreateDataChannel",
      "ssmmessages:OpenControlChannel",
      "ssmmessages:OpenDataChannel",
    ]
    resources = ["*"] # IAM cannot limit these actions to a resource.
  }
}

resource "aws_iam_role_policy" "session" {
  count = var.profiles == null ? 1 : 0

  name   = "session"
  role   = aws_iam_role.this["head"].id
  policy = data.aws_iam_policy_document.session.json
}

moved {
  from = aws_iam_role_policy.session
  to   = aws_iam_role_policy.session[0]
}
