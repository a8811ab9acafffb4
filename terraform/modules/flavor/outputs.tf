output "autoscaling_group" {
  description = "Name of the Auto Scaling group."
  value       = aws_autoscaling_group.this.name
}

output "launch_template_id" {
  description = "ID of the launch template."
  value       = aws_launch_template.this.id
}

output "market" {
  description = "Market on which the nodes are bought: \"on-demand\" or \"spot\"."
  value       = var.market
}

output "max_nodes" {
  description = "Largest number of nodes in the Auto Scaling group at any time."
  value       = var.max_nodes
}

output "vcpus" {
  description = "Number of vCPUs of a node."
  value       = data.aws_ec2_instance_type.this.default_vcpus
}

output "memory_bytes" {
  description = "Memory of a node in bytes."
  value       = data.aws_ec2_instance_type.this.memory_size * 1024 * 1024
}
