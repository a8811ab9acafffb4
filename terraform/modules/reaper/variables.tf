variable "name" {
  description = "Name of the cluster. The names of the function and of its role begin with it."
  type        = string
}

variable "region" {
  description = "AWS region of the cluster."
  type        = string
}

variable "bucket" {
  description = "Name of the cluster's bucket, which holds the lease."
  type        = string
}

variable "bucket_arn" {
  description = "ARN of the cluster's bucket."
  type        = string
}

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts the bucket and the log. Null: keys of AWS encrypt them."
  type        = string
  default     = null
}

variable "minutes" {
  description = "Number of minutes from one call of the function to the next."
  type        = number
  default     = 10

  validation {
    condition     = var.minutes >= 1 && var.minutes <= 60 && floor(var.minutes) == var.minutes
    error_message = "minutes is ${var.minutes}. Give a whole number from 1 to 60: EventBridge counts whole minutes, and what the reaper has to end costs money until it comes."
  }
}

variable "retention_days" {
  description = "Number of days that CloudWatch keeps the function's log."
  type        = number
  default     = 365
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
