output "bucket" {
  description = "Name of the bucket, for backend.hcl."
  value       = module.bucket.bucket
}
