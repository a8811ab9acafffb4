output "instance_id" {
  description = "ID of the head's instance."
  value       = aws_instance.this.id
}

output "private_ip" {
  description = "Private address of the head, in the VPC."
  value       = aws_instance.this.private_ip
}

output "public_ip" {
  description = "Public address of the head. Null when it has none."
  value       = var.public ? aws_instance.this.public_ip : null
}

output "instance_type" {
  description = "EC2 instance type of the head."
  value       = aws_instance.this.instance_type
}
