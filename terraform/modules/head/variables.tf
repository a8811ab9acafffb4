variable "cluster" {
  description = "Name of the cluster, first part of the head's name."
  type        = string
}

variable "instance_type" {
  description = "EC2 instance type of the head: it starts and watches the training, a small one does."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.instance_type))
    error_message = "instance_type must be an EC2 instance type, such as t3.micro."
  }
}

variable "image" {
  description = "Machine image of the head: its ID and its architecture."
  type = object({
    id           = string
    architecture = string
  })
}

variable "user_data_base64" {
  description = "Boot script, in base64."
  type        = string
}

variable "volume_gb" {
  description = "Size of the encrypted root volume, GB."
  type        = number
  default     = 20

  validation {
    condition     = var.volume_gb >= 8 && var.volume_gb <= 16384
    error_message = "volume_gb must be 8 to 16384 GB: the image needs 8, and gp3 ends there."
  }
}

variable "subnet_id" {
  description = "Subnet of the head: a public one for SSH from a named range, else a private one."
  type        = string
}

variable "public" {
  description = "Whether the head gets a public address, in a public subnet."
  type        = bool
  default     = false
}

variable "security_group_id" {
  description = "Security group of the head."
  type        = string
}

variable "key_name" {
  description = "EC2 key pair that may log in."
  type        = string
}

variable "instance_profile" {
  description = "Name of the head's instance profile."
  type        = string
}

variable "detailed_monitoring" {
  description = "Whether CloudWatch gets metrics of every minute, which costs extra."
  type        = bool
  default     = false
}

variable "tags" {
  description = "Tags of the instance and its volume."
  type        = map(string)
  default     = {}
}
