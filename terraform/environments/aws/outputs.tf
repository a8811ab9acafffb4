output "cluster" {
  description = "Name of the cluster, which is the value of the tag centavo:cluster."
  value       = module.centavo.cluster
}

output "region" {
  description = "AWS region of the cluster."
  value       = module.centavo.region
}

output "flavors" {
  description = "Facts about each flavor for the controller."
  value       = module.centavo.flavors
}

output "head" {
  description = "Instance ID, addresses, instance type and size of the volume of the head."
  value       = module.centavo.head
}

output "network" {
  description = "The NAT gateways, the number of public IPv4 addresses, and the zones of workers."
  value       = module.centavo.network
}

output "bucket" {
  description = "Name of the S3 bucket for checkpoints and results."
  value       = module.centavo.bucket
}

output "log_group" {
  description = "Name of the CloudWatch log group that holds the logs of runs."
  value       = module.centavo.log_group
}

output "reaper" {
  description = "Name of the Lambda function that ends the cluster when it has outlived its lease. Null: there is none."
  value       = module.centavo.reaper
}
