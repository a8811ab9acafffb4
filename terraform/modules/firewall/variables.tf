variable "name" {
  description = "First part of the names of the security groups."
  type        = string
}

variable "vpc_id" {
  description = "VPC of the security groups."
  type        = string
}

variable "vpc_cidr" {
  description = "Address range of the VPC, where the nodes may open connections to."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.vpc_cidr))
    error_message = "vpc_cidr must be an IPv4 range, such as 10.20.0.0/16."
  }
}

variable "ssh_from" {
  description = "IPv4 ranges that may open SSH to the head. Empty: nobody may, and the head is reached through Systems Manager or from inside the VPC."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.ssh_from : can(cidrnetmask(range))])
    error_message = "ssh_from must hold IPv4 ranges, such as 203.0.113.7/32 for one address."
  }

  validation {
    condition     = alltrue([for range in var.ssh_from : try(tonumber(split("/", range)[1]) >= 16, false)])
    error_message = "ssh_from opens SSH to more than 65,536 addresses. Name the range that you come from (at most a /16), or leave it empty and use Systems Manager."
  }
}

variable "ssh_port" {
  description = "TCP port on which the nodes listen for SSH."
  type        = number
  default     = 22

  validation {
    condition     = var.ssh_port >= 1 && var.ssh_port <= 65535 && floor(var.ssh_port) == var.ssh_port
    error_message = "ssh_port must be a TCP port, 1 to 65535."
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
