output "cluster" {
  description = "Name of the cluster, which is the value of the tag centavo:cluster."
  value       = var.cluster
}

output "region" {
  description = "AWS region of the cluster."
  value       = data.aws_region.this.name
}

output "flavors" {
  description = "Facts about each flavor for the controller: Auto Scaling group, launch template, market, number of nodes that are bought on demand before any is bought on spot, largest number of nodes, vCPUs, memory, size of a node's volume, and mode of CPU credits (null: AWS's default)."
  value = {
    for flavor, group in module.flavor : flavor => {
      autoscaling_group  = group.autoscaling_group
      launch_template_id = group.launch_template_id
      market             = group.market
      on_demand_base     = var.flavors[flavor].on_demand_base
      max_nodes          = group.max_nodes
      vcpus              = group.vcpus
      memory_bytes       = group.memory_bytes
      volume_gb          = var.flavors[flavor].volume_gb
      cpu_credits        = var.flavors[flavor].cpu_credits
    }
  }
}

output "head" {
  description = "Instance ID, addresses, instance type and size of the volume of the head. public_ip is null when the head has no public address."
  value = {
    instance_id   = module.head.instance_id
    private_ip    = module.head.private_ip
    public_ip     = module.head.public_ip
    instance_type = module.head.instance_type
    volume_gb     = var.head.volume_gb
  }
}

output "network" {
  description = "What the network costs money for: the number and the IDs of NAT gateways, the number of public IPv4 addresses with the head's, and the zones over which workers spread, since traffic between zones is paid."
  value = {
    nat_gateways     = var.existing_network == null ? var.nat_gateways : 0
    nat_gateway_ids  = flatten(module.network[*].nat_gateway_ids)
    public_addresses = (var.existing_network == null ? var.nat_gateways : 0) + (local.head_public ? 1 : 0)
    worker_zones     = local.worker_zones
  }
}

output "bucket" {
  description = "Name of the S3 bucket for checkpoints and results."
  value       = module.storage.bucket
}

output "log_group" {
  description = "Name of the CloudWatch log group that holds the logs of runs."
  value       = aws_cloudwatch_log_group.runs.name
}

output "reaper" {
  description = "Name of the Lambda function that ends the cluster when it has outlived its lease. Null: there is none."
  value       = one(module.reaper[*].function)
}
