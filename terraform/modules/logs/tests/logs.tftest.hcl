mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }

  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:/centavo/unit/flow" }
  }

  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/unit-flow-logs" }
  }
}

variables {
  name   = "unit"
  vpc_id = "vpc-0123456789abcdef0"
}

run "by_default_refused_connections_are_logged_for_a_year" {
  command = plan

  assert {
    condition     = aws_flow_log.this.traffic_type == "REJECT" && aws_cloudwatch_log_group.flow.retention_in_days == 365
    error_message = "By default the log must hold refused connections and keep them for 365 days."
  }

  assert {
    condition     = output.flow_log_group == "/centavo/unit/flow"
    error_message = "The output flow_log_group must be the name of the log group."
  }
}

run "the_role_may_write_to_this_log_group_only" {
  command = apply

  assert {
    condition     = one(data.aws_iam_policy_document.write.statement).resources == toset(["${aws_cloudwatch_log_group.flow.arn}:*"])
    error_message = "The role's policy must name the streams of this log group and nothing else."
  }
}

run "refuses_an_unknown_kind_of_traffic" {
  command = plan

  variables {
    traffic = "SOME"
  }

  expect_failures = [var.traffic]
}

run "refuses_a_retention_that_cloudwatch_does_not_offer" {
  command = plan

  variables {
    retention_days = 42
  }

  expect_failures = [var.retention_days]
}
