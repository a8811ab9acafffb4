output "policy_arns" {
  description = "ARNs of the two policies, `build` and `run`, for users and roles that are not in the group."
  value       = { for name, policy in aws_iam_policy.this : name => policy.arn }
}

output "group" {
  description = "Name of the group. Who is added to it may run Centavo."
  value       = aws_iam_group.this.name
}
