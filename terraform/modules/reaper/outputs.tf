output "function" {
  description = "Name of the Lambda function."
  value       = aws_lambda_function.this.function_name
}

output "log_group" {
  description = "Name of the log group that the function writes to."
  value       = aws_cloudwatch_log_group.this.name
}
