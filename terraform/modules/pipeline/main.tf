locals {
  issuer = "token.actions.githubusercontent.com"

  provider_arn = var.provider_arn == null ? aws_iam_openid_connect_provider.this[0].arn : var.provider_arn

  # The subject of GitHub's token says where a job runs. A job of a pull request, or of the protected branch, may read. Only a job of
  # the environment may change things. Its subject does not name the branch, so the environment itself must admit the branch only.
  subjects = {
    plan  = ["repo:${var.repository}:pull_request", "repo:${var.repository}:ref:refs/heads/${var.branch}"]
    apply = ["repo:${var.repository}:environment:${var.environment}"]
  }

  account   = data.aws_caller_identity.this.account_id
  partition = data.aws_partition.this.partition
  iam       = "arn:${local.partition}:iam::${local.account}"

  node_roles = [for node in ["head", "worker"] : "${local.iam}:role/${var.cluster}-${node}"]
  profiles   = [for node in ["head", "worker"] : "${local.iam}:instance-profile/${var.cluster}-${node}"]
  logs_role  = "${local.iam}:role/${var.cluster}-flow-logs"

  reaper_role = "${local.iam}:role/${var.cluster}-reaper"
  reaper = [
    "arn:${local.partition}:lambda:${var.region}:${local.account}:function:${var.cluster}-reaper",
    "arn:${local.partition}:events:${var.region}:${local.account}:rule/${var.cluster}-reaper",
  ]

  bucket = "arn:${local.partition}:s3:::${var.cluster}-*"
}

data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

resource "aws_iam_openid_connect_provider" "this" {
  count = var.provider_arn == null ? 1 : 0

  url            = "https://${local.issuer}"
  client_id_list = ["sts.amazonaws.com"]

  tags = merge(var.tags, { Name = var.name })
}

data "aws_iam_policy_document" "trust" {
  for_each = local.subjects

  statement {
    actions = ["sts:AssumeRoleWithWebIdentity"]

    principals {
      type        = "Federated"
      identifiers = [local.provider_arn]
    }

    condition {
      test     = "StringEquals"
      variable = "${local.issuer}:aud"
      values   = ["sts.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "${local.issuer}:sub"
      values   = each.value
    }
  }
}

resource "aws_iam_role" "this" {
  for_each = local.subjects

  name                 = "${var.name}-${each.key}"
  description          = "What the workflows of ${var.repository} may do to ${each.key} ${var.cluster}"
  assume_role_policy   = data.aws_iam_policy_document.trust[each.key].json
  max_session_duration = 3600

  tags = merge(var.tags, { Name = "${var.name}-${each.key}" })
}
