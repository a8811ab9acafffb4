output "key_name" {
  description = "Name of the EC2 key pair."
  value       = aws_key_pair.this.key_name
}

output "head_instance_profile" {
  description = "Name of the head's instance profile."
  value       = var.profiles == null ? aws_iam_instance_profile.this["head"].name : data.aws_iam_instance_profile.existing["head"].name
}

output "worker_instance_profile" {
  description = "Name of the workers' instance profile."
  value       = var.profiles == null ? aws_iam_instance_profile.this["worker"].name : data.aws_iam_instance_profile.existing["worker"].name
}
