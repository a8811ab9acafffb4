variable "name" {
  description = "Name of the VPC. The names of all that belongs to it begin with this name."
  type        = string
}

variable "region" {
  description = "Region of the VPC. The name of its S3 endpoint holds the region."
  type        = string
}

variable "cidr" {
  description = "Address range of the VPC, from /16 to /20. Each subnet gets a sixteenth of it."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.cidr)) && try(tonumber(split("/", var.cidr)[1]) >= 16 && tonumber(split("/", var.cidr)[1]) <= 20, false)
    error_message = "cidr is ${jsonencode(var.cidr)}. Give an IPv4 range from /16 to /20, such as \"10.20.0.0/16\". AWS allows no larger VPC, and a smaller one has too few addresses for the nodes."
  }
}

variable "availability_zones" {
  description = "One to eight availability zones of one region. Each gets a private and a public subnet. Append new zones at the end: the order decides the addresses of the subnets."
  type        = list(string)

  validation {
    condition     = length(var.availability_zones) >= 1 && length(var.availability_zones) <= 8
    error_message = "availability_zones names ${length(var.availability_zones)} zones. Name one to eight, such as [\"us-east-1a\", \"us-east-1b\"]."
  }

  validation {
    condition     = length(distinct(var.availability_zones)) == length(var.availability_zones)
    error_message = "availability_zones names a zone twice: ${join(", ", var.availability_zones)}. Name each zone once."
  }

  validation {
    condition     = alltrue([for zone in var.availability_zones : startswith(zone, var.region)])
    error_message = "availability_zones holds zones outside ${var.region}: ${join(", ", [for zone in var.availability_zones : zone if !startswith(zone, var.region)])}. Take zones of this region: `aws ec2 describe-availability-zones --region ${var.region}` lists them."
  }
}

variable "nat_gateways" {
  description = "Number of NAT gateways, through which the private subnets reach the internet. 0: they do not reach it. 1: all zones share one, which costs least. One per zone: the loss of a zone does not cut off the others."
  type        = number
  default     = 1

  validation {
    condition     = var.nat_gateways >= 0 && floor(var.nat_gateways) == var.nat_gateways && var.nat_gateways <= length(var.availability_zones)
    error_message = "nat_gateways is ${var.nat_gateways}. Give a whole number from 0 to ${length(var.availability_zones)}, the number of availability_zones."
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
