variable "name" {
  description = "First part of the bucket's name; AWS adds digits that make it unique in the world."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,35}$", var.name))
    error_message = "name must be 2 to 36 lower-case letters, digits and hyphens, a letter first: it begins the bucket's name."
  }
}

variable "kms_key_arn" {
  description = "KMS key that encrypts the objects; null for S3's own keys (AES256)."
  type        = string
  default     = null
}

variable "noncurrent_days" {
  description = "Days that overwritten and deleted objects are kept; null keeps them until the bucket goes."
  type        = number
  default     = 30

  validation {
    condition     = var.noncurrent_days == null || try(var.noncurrent_days >= 1 && floor(var.noncurrent_days) == var.noncurrent_days, false)
    error_message = "noncurrent_days must be a whole number of days, at least 1, or null."
  }
}

variable "force_destroy" {
  description = "Whether destroying the bucket also destroys what is in it. False keeps results: the destroy then fails until somebody empties the bucket."
  type        = bool
  default     = false
}

variable "require_tls" {
  description = "Whether the bucket refuses requests that do not come over TLS. False only where the endpoint has none, on loopback."
  type        = bool
  default     = true
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
