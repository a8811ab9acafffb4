variable "name" {
  description = "Name of the cluster. The name of the log group holds it."
  type        = string
}

variable "vpc_id" {
  description = "ID of the VPC whose traffic is logged."
  type        = string
}

variable "traffic" {
  description = "Connections that are logged: \"REJECT\", \"ACCEPT\" or \"ALL\". ACCEPT and ALL are expensive, because they log the traffic of allreduce."
  type        = string
  default     = "REJECT"

  validation {
    condition     = contains(["REJECT", "ACCEPT", "ALL"], var.traffic)
    error_message = "traffic is ${jsonencode(var.traffic)}. Give \"REJECT\", \"ACCEPT\" or \"ALL\"."
  }
}

variable "retention_days" {
  description = "Number of days that CloudWatch Logs keeps the log. CloudWatch Logs offers certain numbers only."
  type        = number
  default     = 365

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.retention_days)
    error_message = "retention_days is ${var.retention_days}. Give a number of days that CloudWatch Logs offers: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653."
  }
}

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts the log. Null: a key of CloudWatch Logs encrypts it."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
