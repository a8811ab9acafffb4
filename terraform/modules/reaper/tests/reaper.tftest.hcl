mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }

  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }

  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }

  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/unit-reaper" }
  }

  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:us-east-1:123456789012:function:unit-reaper" }
  }

  mock_resource "aws_cloudwatch_event_rule" {
    defaults = { arn = "arn:aws:events:us-east-1:123456789012:rule/unit-reaper" }
  }

  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:/centavo/unit/reaper" }
  }
}

variables {
  name       = "unit"
  region     = "us-east-1"
  bucket     = "unit-bucket"
  bucket_arn = "arn:aws:s3:::unit-bucket"
}

run "the_function_runs_on_a_schedule_and_knows_its_cluster" {
  command = apply

  assert {
    condition     = aws_lambda_function.this.handler == "warden.reaper.function.handler" && aws_lambda_function.this.runtime == "python3.11"
    error_message = "The function must run the reaper's handler."
  }

  assert {
    condition     = aws_lambda_function.this.environment[0].variables == tomap({ CENTAVO_CLUSTER = "unit", CENTAVO_BUCKET = "unit-bucket" })
    error_message = "The function must be told its cluster and its bucket."
  }

  assert {
    condition     = aws_cloudwatch_event_rule.this.schedule_expression == "rate(10 minutes)" && aws_cloudwatch_event_target.this.arn == aws_lambda_function.this.arn
    error_message = "The schedule must call the function every ten minutes."
  }

  assert {
    condition     = aws_lambda_permission.this.source_arn == aws_cloudwatch_event_rule.this.arn && aws_lambda_permission.this.principal == "events.amazonaws.com"
    error_message = "This schedule alone may call the function."
  }

  assert {
    condition     = output.function == "unit-reaper" && output.log_group == "/centavo/unit/reaper"
    error_message = "The outputs must name the function and its log group."
  }
}

run "every_minute_is_a_rate_of_one_minute" {
  command = plan

  variables {
    minutes = 1
  }

  assert {
    condition     = aws_cloudwatch_event_rule.this.schedule_expression == "rate(1 minute)"
    error_message = "EventBridge takes \"rate(1 minute)\", and not \"rate(1 minutes)\"."
  }
}

run "what_changes_something_is_limited_to_this_cluster" {
  command = plan

  assert {
    condition = alltrue([
      for statement in data.aws_iam_policy_document.this.statement : anytrue([for condition in statement.condition : condition.variable == "aws:ResourceTag/centavo:cluster" && toset(condition.values) == toset(["unit"])])
      if length(setintersection(statement.actions, ["autoscaling:SetDesiredCapacity", "autoscaling:SetInstanceProtection", "ec2:StopInstances", "ec2:TerminateInstances"])) > 0
    ])
    error_message = "Ending instances and emptying groups must be limited to what carries the cluster's tag."
  }

  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.this.statement : statement.actions if contains(statement.resources, "*")])) == toset([
      "autoscaling:DescribeAutoScalingGroups", "ec2:DescribeAddresses", "ec2:DescribeInstances", "ec2:DescribeNatGateways", "ec2:DescribeVolumes",
    ])
    error_message = "Only actions that describe may have no limit."
  }

  assert {
    condition     = !anytrue([for action in flatten([for statement in data.aws_iam_policy_document.this.statement : statement.actions]) : strcontains(action, "*")])
    error_message = "The policy must name each action, without wildcards."
  }

  assert {
    condition     = contains(flatten([for statement in data.aws_iam_policy_document.this.statement : statement.resources if contains(statement.actions, "s3:PutObject")]), "arn:aws:s3:::unit-bucket/control/lease.json")
    error_message = "The function may write the lease, and no other object."
  }
}

run "the_function_may_use_the_key_of_the_bucket" {
  command = plan

  variables {
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000"
  }

  assert {
    condition     = contains(flatten([for statement in data.aws_iam_policy_document.this.statement : statement.resources]), var.kms_key_arn)
    error_message = "The policy must allow the bucket's KMS key: without it, the lease cannot be read."
  }
}

run "refuses_a_schedule_that_eventbridge_does_not_know" {
  command = plan

  variables {
    minutes = 0.5
  }

  expect_failures = [var.minutes]
}
