output "vcpus" {
  description = "vCPUs that the groups need, by class of families and market."
  value       = local.wanted_vcpus
}
