output "head_security_group_id" {
  description = "ID of the head's security group."
  value       = aws_security_group.head.id
}

output "worker_security_group_id" {
  description = "ID of the workers' security group."
  value       = aws_security_group.worker.id
}
