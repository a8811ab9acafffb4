output "plan_role" {
  description = "ARN of the role that may only read, for the repository variable AWS_PLAN_ROLE."
  value       = aws_iam_role.this["plan"].arn
}

output "apply_role" {
  description = "ARN of the role that may apply, for the variable AWS_APPLY_ROLE of the GitHub environment."
  value       = aws_iam_role.this["apply"].arn
}

output "provider_arn" {
  description = "ARN of GitHub's OIDC provider."
  value       = local.provider_arn
}
