variable "name" {
  description = "Name of the cluster. The names of the security groups begin with it."
  type        = string
}

variable "vpc_id" {
  description = "ID of the VPC of the security groups."
  type        = string
}

variable "vpc_cidr" {
  description = "Address range of the VPC. Nodes may open connections to every address in it."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.vpc_cidr))
    error_message = "vpc_cidr is ${jsonencode(var.vpc_cidr)}, which is no IPv4 range. Give one such as \"10.20.0.0/16\"."
  }
}

variable "ssh_from" {
  description = "IPv4 ranges that may open SSH to the head. Empty: no address may, and Systems Manager alone reaches the head."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.ssh_from : can(cidrnetmask(range))])
    error_message = "ssh_from holds texts that are no IPv4 ranges: ${join(", ", [for range in var.ssh_from : jsonencode(range) if !can(cidrnetmask(range))])}. Give ranges such as \"203.0.113.7/32\", which is one address."
  }

  validation {
    condition     = alltrue([for range in var.ssh_from : try(tonumber(split("/", range)[1]) >= 16, true)])
    error_message = "ssh_from would open SSH to more than 65,536 addresses: ${join(", ", [for range in var.ssh_from : range if !try(tonumber(split("/", range)[1]) >= 16, true)])}. Name the range of your own addresses, at most a /16."
  }
}

variable "ssh_port" {
  description = "TCP port on which the nodes listen for SSH."
  type        = number
  default     = 22

  validation {
    condition     = var.ssh_port >= 1 && var.ssh_port <= 65535 && floor(var.ssh_port) == var.ssh_port
    error_message = "ssh_port is ${var.ssh_port}. Give a TCP port, which is a whole number from 1 to 65535."
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
