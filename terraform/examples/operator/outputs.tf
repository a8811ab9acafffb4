output "policy_arn" {
  description = "ARN of the policy, for users and roles that are not in the group."
  value       = aws_iam_policy.this.arn
}

output "group" {
  description = "Name of the group. Who is added to it may run Centavo."
  value       = aws_iam_group.this.name
}
