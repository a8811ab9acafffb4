locals {
  tags = merge(var.tags, { Name = "${var.name}-alarms" })

  # The controller's metrics, which it sends while `metrics.cloudwatch` in centavo.yml asks for it.
  namespace  = "Centavo"
  dimensions = { cluster = var.name }
}

resource "aws_sns_topic" "this" {
  #checkov:skip=CKV_AWS_26:the messages hold names of alarms and numbers, and no key that CloudWatch may use costs nothing

  name = "${var.name}-alarms"

  tags = local.tags
}

# AWS mails a link to the address first. Nothing else is mailed before somebody has opened it.
resource "aws_sns_topic_subscription" "mail" {
  topic_arn = aws_sns_topic.this.arn
  protocol  = "email"
  endpoint  = var.email
}

resource "aws_cloudwatch_metric_alarm" "no_progress" {
  alarm_name          = "${var.name}-no-progress"
  alarm_description   = "No rank of ${var.name} has made a step for ${var.no_progress_s} s. `centavo status` and `centavo logs` show what it does."
  namespace           = local.namespace
  metric_name         = "SecondsWithoutStep"
  dimensions          = local.dimensions
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.no_progress_s
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.this.arn]
  ok_actions          = [aws_sns_topic.this.arn]

  tags = local.tags
}

resource "aws_cloudwatch_metric_alarm" "budget" {
  alarm_name          = "${var.name}-budget"
  alarm_description   = "The run on ${var.name} has used ${var.budget_percent} % of its budget. It is stopped when the budget is used up."
  namespace           = local.namespace
  metric_name         = "BudgetUsedPercent"
  dimensions          = local.dimensions
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = var.budget_percent
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.this.arn]

  tags = local.tags
}

# An orphan is a cluster whose workers run while no controller says that it is there. Only both together mail.
resource "aws_cloudwatch_metric_alarm" "no_controller" {
  alarm_name          = "${var.name}-no-controller"
  alarm_description   = "No controller of ${var.name} has sent metrics. Without workers that is as it should be."
  namespace           = local.namespace
  metric_name         = "Controllers"
  dimensions          = local.dimensions
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = var.orphan_periods
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  treat_missing_data  = "breaching"

  tags = local.tags
}

resource "aws_cloudwatch_metric_alarm" "workers_run" {
  for_each = var.groups

  alarm_name          = "${var.name}-${each.key}-runs"
  alarm_description   = "Workers of the flavor ${each.key} run. While a controller steers them that is as it should be."
  namespace           = "AWS/AutoScaling"
  metric_name         = "GroupInServiceInstances"
  dimensions          = { AutoScalingGroupName = each.value }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"

  tags = local.tags
}

resource "aws_cloudwatch_composite_alarm" "orphan" {
  alarm_name        = "${var.name}-orphan"
  alarm_description = "Workers of ${var.name} run and cost money, and no controller steers them. `centavo optimize` goes on with the run, `centavo destroy` ends it all."
  alarm_rule = join(" AND ", [
    "ALARM(\"${aws_cloudwatch_metric_alarm.no_controller.alarm_name}\")",
    "(${join(" OR ", [for alarm in values(aws_cloudwatch_metric_alarm.workers_run) : "ALARM(\"${alarm.alarm_name}\")"])})",
  ])
  alarm_actions = [aws_sns_topic.this.arn]
  ok_actions    = [aws_sns_topic.this.arn]

  tags = local.tags
}
