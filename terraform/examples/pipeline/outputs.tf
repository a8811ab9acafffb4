output "plan_role" {
  description = "Value of the repository variable AWS_PLAN_ROLE."
  value       = module.pipeline.plan_role
}

output "apply_role" {
  description = "Value of the variable AWS_APPLY_ROLE of the GitHub environment aws."
  value       = module.pipeline.apply_role
}
