output "key_name" {
  description = "Name of the EC2 key pair."
  value       = aws_key_pair.this.key_name
}

output "head_instance_profile" {
  description = "Name of the head's instance profile."
  value       = aws_iam_instance_profile.this["head"].name
}

output "worker_instance_profile" {
  description = "Name of the workers' instance profile."
  value       = aws_iam_instance_profile.this["worker"].name
}
