output "bucket" {
  description = "Name for backend.hcl."
  value       = module.bucket.bucket
}
