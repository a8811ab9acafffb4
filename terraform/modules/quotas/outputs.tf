output "vcpus" {
  description = "Number of vCPUs that the groups need, by class of instance families and market."
  value       = local.wanted_vcpus
}
