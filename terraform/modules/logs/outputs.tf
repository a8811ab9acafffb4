output "flow_log_group" {
  description = "Name of the log group that holds the VPC's flow log."
  value       = aws_cloudwatch_log_group.flow.name
}
