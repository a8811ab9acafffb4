output "flavors" {
  description = "The groups."
  value       = module.centavo.flavors
}

output "head" {
  description = "The head."
  value       = module.centavo.head
}
