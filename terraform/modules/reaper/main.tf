locals {
  function = "${var.name}-reaper"
}

data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/centavo/${var.name}/reaper"
  retention_in_days = var.retention_days
  kms_key_id        = var.kms_key_arn

  tags = merge(var.tags, { Name = local.function })
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "this" {
  name               = local.function
  description        = "Ends ${var.name} when it has outlived its lease"
  assume_role_policy = data.aws_iam_policy_document.assume.json

  tags = merge(var.tags, { Name = local.function })
}

data "aws_iam_policy_document" "this" {
  #checkov:skip=CKV_AWS_111:Actions that only describe take no resource
  #checkov:skip=CKV_AWS_356:Actions that only describe take no resource

  statement {
    sid = "SeeWhatIsThere"
    actions = [
      "autoscaling:DescribeAutoScalingGroups",
      "ec2:DescribeAddresses",
      "ec2:DescribeInstances",
      "ec2:DescribeNatGateways",
      "ec2:DescribeVolumes",
    ]
    resources = ["*"] # IAM cannot limit these actions to a resource.
  }

  statement {
    sid       = "EmptyTheClustersGroups"
    actions   = ["autoscaling:SetDesiredCapacity", "autoscaling:SetInstanceProtection"]
    resources = ["arn:${data.aws_partition.this.partition}:autoscaling:${var.region}:${data.aws_caller_identity.this.account_id}:autoScalingGroup:*:autoScalingGroupName/*"]

    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/centavo:cluster"
      values   = [var.name]
    }
  }

  statement {
    sid       = "EndTheClustersInstances"
    actions   = ["ec2:StopInstances", "ec2:TerminateInstances"]
    resources = ["arn:${data.aws_partition.this.partition}:ec2:${var.region}:${data.aws_caller_identity.this.account_id}:instance/*"]

    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/centavo:cluster"
      values   = [var.name]
    }
  }

  statement {
    sid       = "SeeWhenTheRunWasLastAlive"
    actions   = ["s3:ListBucket"]
    resources = [var.bucket_arn]
  }

  statement {
    sid       = "ReadAndMarkTheLease"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = ["${var.bucket_arn}/control/lease.json"]
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      sid       = "UseTheBucketsKey"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }

  statement {
    sid       = "WriteTheLog"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.this.arn}:*"]
  }
}

resource "aws_iam_role_policy" "this" {
  name   = "reap"
  role   = aws_iam_role.this.id
  policy = data.aws_iam_policy_document.this.json
}

resource "aws_lambda_function" "this" {
  #checkov:skip=CKV_AWS_50:A call that ends within seconds needs no trace
  #checkov:skip=CKV_AWS_115:The schedule calls it once at a time, and a limit would take from the account's
  #checkov:skip=CKV_AWS_116:A call that fails is made again by the schedule
  #checkov:skip=CKV_AWS_117:It reaches nothing in the VPC
  #checkov:skip=CKV_AWS_173:Its settings are the names of the cluster and of the bucket
  #checkov:skip=CKV_AWS_272:Terraform uploads the program from this repository

  function_name = local.function
  description   = "Ends ${var.name} when it has outlived its lease"
  role          = aws_iam_role.this.arn

  # terraform/reaper packs controller/warden.
  filename         = "${path.module}/warden.zip"
  source_code_hash = filebase64sha256("${path.module}/warden.zip")
  handler          = "warden.reaper.function.handler"
  runtime          = "python3.11"
  memory_size      = 256
  timeout          = 300

  environment {
    variables = {
      CENTAVO_CLUSTER = var.name
      CENTAVO_BUCKET  = var.bucket
    }
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.this.name
  }

  tags = merge(var.tags, { Name = local.function })

  depends_on = [aws_iam_role_policy.this]
}

resource "aws_cloudwatch_event_rule" "this" {
  name                = local.function
  description         = "Calls ${local.function}"
  schedule_expression = var.minutes == 1 ? "rate(1 minute)" : "rate(${var.minutes} minutes)"

  tags = merge(var.tags, { Name = local.function })
}

resource "aws_cloudwatch_event_target" "this" {
  rule = aws_cloudwatch_event_rule.this.name
  arn  = aws_lambda_function.this.arn
}

resource "aws_lambda_permission" "this" {
  statement_id  = "schedule"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this.function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.this.arn
}
