variable "name" {
  description = "Name of the cluster, part of the log group's name."
  type        = string
}

variable "vpc_id" {
  description = "VPC whose traffic is logged."
  type        = string
}

variable "traffic" {
  description = "Which connections are logged: REJECT, ACCEPT or ALL. Allreduce makes ALL expensive."
  type        = string
  default     = "REJECT"

  validation {
    condition     = contains(["REJECT", "ACCEPT", "ALL"], var.traffic)
    error_message = "traffic must be REJECT, ACCEPT or ALL."
  }
}

variable "retention_days" {
  description = "Days that the log is kept, one of the numbers that CloudWatch knows."
  type        = number
  default     = 365

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.retention_days)
    error_message = "retention_days must be a number of days that CloudWatch Logs offers: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731 or 1096 (and some longer ones)."
  }
}

variable "kms_key_arn" {
  description = "KMS key that encrypts the log; null for the key of CloudWatch."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
