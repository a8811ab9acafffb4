output "flavors" {
  description = "Facts about each flavor, such as its Auto Scaling group."
  value       = module.centavo.flavors
}

output "head" {
  description = "Instance ID, addresses and instance type of the head."
  value       = module.centavo.head
}
