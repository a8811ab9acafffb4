variable "name" {
  description = "First part of the bucket's name. Terraform adds digits that make the name unique among all buckets of AWS."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,35}$", var.name))
    error_message = "name is ${jsonencode(var.name)}. Give it 2 to 36 lower-case letters, digits and hyphens, with a letter first: the bucket's name begins with it."
  }
}

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts the objects. Null: keys of S3 (AES256) encrypt them."
  type        = string
  default     = null
}

variable "noncurrent_days" {
  description = "Number of days that the bucket keeps overwritten and deleted objects. Null: it keeps them until it is destroyed."
  type        = number
  default     = 30

  validation {
    condition     = var.noncurrent_days == null || try(var.noncurrent_days >= 1 && floor(var.noncurrent_days) == var.noncurrent_days, false)
    error_message = "noncurrent_days is ${jsonencode(var.noncurrent_days)}. Give a whole number of days, at least 1, or null to keep old versions."
  }
}

variable "force_destroy" {
  description = "Whether a destroy of the bucket deletes its objects too. False: the destroy fails until the bucket holds no object and no old version of one."
  type        = bool
  default     = false
}

variable "require_tls" {
  description = "Whether the bucket refuses requests without TLS. Set it to false only for an endpoint on loopback, which has no TLS."
  type        = bool
  default     = true
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
