variable "cluster" {
  description = "Name of the cluster. The name of the head begins with it."
  type        = string
}

variable "instance_type" {
  description = "EC2 instance type of the head. The head does not train, but it compiles Horovod unless its image or a wheelhouse has it ready, which needs more than 4 GiB of memory."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.instance_type))
    error_message = "instance_type is ${jsonencode(var.instance_type)}, which is no EC2 instance type. Give one such as \"t3.large\"."
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
  description = "Boot script of the head, in base64."
  type        = string
}

variable "volume_gb" {
  description = "Size of the encrypted root volume in GB."
  type        = number
  default     = 20

  validation {
    condition     = var.volume_gb >= 8 && var.volume_gb <= 16384
    error_message = "volume_gb is ${var.volume_gb}. Give 8 to 16384 GB: the image needs 8, and a gp3 volume has at most 16384."
  }
}

variable "subnet_id" {
  description = "ID of the subnet of the head. It must be a public subnet when `public` is true."
  type        = string
}

variable "public" {
  description = "Whether the head gets a public address."
  type        = bool
  default     = false
}

variable "security_group_id" {
  description = "ID of the security group of the head."
  type        = string
}

variable "key_name" {
  description = "Name of the EC2 key pair that may log in."
  type        = string
}

variable "instance_profile" {
  description = "Name of the head's instance profile."
  type        = string
}

variable "detailed_monitoring" {
  description = "Whether CloudWatch collects the metrics of the head every minute, which costs extra."
  type        = bool
  default     = false
}

variable "tags" {
  description = "Tags of the instance and its volume."
  type        = map(string)
  default     = {}
}
