variable "name" {
  description = "Name of the VPC and first part of the names of what is in it."
  type        = string
}

variable "region" {
  description = "Region of the VPC, for the name of its S3 endpoint."
  type        = string
}

variable "cidr" {
  description = "Address range of the VPC, a /16 to /20: a sixteenth of it goes to each subnet."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.cidr)) && try(tonumber(split("/", var.cidr)[1]) >= 16 && tonumber(split("/", var.cidr)[1]) <= 20, false)
    error_message = "cidr must be an IPv4 range from /16 to /20, such as 10.20.0.0/16. AWS takes no larger VPC, and smaller ones leave too few addresses for the nodes."
  }
}

variable "availability_zones" {
  description = "Zones that get a private and a public subnet, one to eight of one region. Append new ones at the end: the order gives the addresses."
  type        = list(string)

  validation {
    condition     = length(var.availability_zones) >= 1 && length(var.availability_zones) <= 8
    error_message = "availability_zones must name one to eight zones, such as [\"us-east-1a\", \"us-east-1b\"]."
  }

  validation {
    condition     = length(distinct(var.availability_zones)) == length(var.availability_zones)
    error_message = "availability_zones names a zone twice. Leave each zone in once."
  }

  validation {
    condition     = alltrue([for zone in var.availability_zones : startswith(zone, var.region)])
    error_message = "availability_zones holds a zone of another region. Take zones of the region given, as `aws ec2 describe-availability-zones` lists them."
  }
}

variable "nat_gateways" {
  description = "NAT gateways for the private subnets: 0 for no way out, 1 for a cheap one, one per zone for one that survives the loss of a zone."
  type        = number
  default     = 1

  validation {
    condition     = var.nat_gateways >= 0 && floor(var.nat_gateways) == var.nat_gateways && var.nat_gateways <= length(var.availability_zones)
    error_message = "nat_gateways must be a whole number from 0 to the number of availability_zones."
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
