mock_provider "aws" {
  mock_resource "aws_sns_topic" {
    defaults = { arn = "arn:aws:sns:us-east-1:123456789012:unit-alarms" }
  }
}

variables {
  name   = "unit"
  email  = "team@example.com"
  groups = { "c5.large" = "unit-c5.large", "t2.medium" = "unit-t2.medium" }
}

run "progress_and_budget_are_watched_and_mailed" {
  command = apply

  assert {
    condition     = aws_cloudwatch_metric_alarm.no_progress.threshold == 1800 && aws_cloudwatch_metric_alarm.budget.threshold == 80
    error_message = "By default an alarm must come after 1800 s without a step, and at 80 % of the budget."
  }

  assert {
    condition     = alltrue([for alarm in [aws_cloudwatch_metric_alarm.no_progress, aws_cloudwatch_metric_alarm.budget] : alarm.alarm_actions == toset([aws_sns_topic.this.arn]) && alarm.dimensions == tomap({ cluster = "unit" }) && alarm.treat_missing_data == "notBreaching"])
    error_message = "The alarms must watch this cluster, mail, and keep quiet while no run goes on."
  }

  assert {
    condition     = aws_sns_topic_subscription.mail.endpoint == "team@example.com"
    error_message = "The topic must mail to the given address."
  }
}

run "an_orphan_is_workers_without_a_controller" {
  command = apply

  assert {
    condition     = aws_cloudwatch_composite_alarm.orphan.alarm_rule == "ALARM(\"unit-no-controller\") AND (ALARM(\"unit-c5.large-runs\") OR ALARM(\"unit-t2.medium-runs\"))"
    error_message = "The alarm must come when no controller tells and workers of any flavor run."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.no_controller.treat_missing_data == "breaching" && aws_cloudwatch_metric_alarm.no_controller.alarm_actions == null
    error_message = "Silence must count as no controller, and must not mail by itself."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.workers_run["c5.large"].dimensions == tomap({ AutoScalingGroupName = "unit-c5.large" })
    error_message = "The workers of each flavor must be counted by its group."
  }
}

run "refuses_what_is_no_address" {
  command = plan

  variables {
    email = "the team"
  }

  expect_failures = [var.email]
}

run "refuses_a_share_above_the_whole_budget" {
  command = plan

  variables {
    budget_percent = 120
  }

  expect_failures = [var.budget_percent]
}

run "refuses_a_limit_below_the_rhythm_of_the_metrics" {
  command = plan

  variables {
    no_progress_s = 30
  }

  expect_failures = [var.no_progress_s]
}
