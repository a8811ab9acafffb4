variable "cluster" {
  description = "Name of the cluster. The name of the Auto Scaling group begins with it."
  type        = string
}

variable "flavor" {
  description = "EC2 instance type of the nodes."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.flavor))
    error_message = "flavor is ${jsonencode(var.flavor)}, which is no EC2 instance type. Give one such as \"c5.xlarge\"."
  }
}

variable "capacity" {
  description = "Number of nodes in the Auto Scaling group. The capacity file alone decides it."
  type        = number

  validation {
    condition     = var.capacity >= 0 && floor(var.capacity) == var.capacity
    error_message = "capacity is ${var.capacity}. Give a whole number of nodes, 0 or more, in the capacity file."
  }

  validation {
    condition     = var.capacity <= var.max_nodes
    error_message = "capacity of ${var.flavor} is ${var.capacity}, more than its max_nodes, ${var.max_nodes}. Lower it in the capacity file, or raise max_nodes in flavors."
  }
}

variable "max_nodes" {
  description = "Largest number of nodes in the Auto Scaling group at any time."
  type        = number

  validation {
    condition     = var.max_nodes >= 1 && var.max_nodes <= 1000 && floor(var.max_nodes) == var.max_nodes
    error_message = "max_nodes of ${var.flavor} is ${var.max_nodes}. Give a whole number from 1 to 1000. For a flavor without nodes, set its capacity to 0."
  }
}

variable "market" {
  description = "Market on which the nodes are bought: \"on-demand\" or \"spot\"."
  type        = string
  default     = "on-demand"

  validation {
    condition     = contains(["on-demand", "spot"], var.market)
    error_message = "market of ${var.flavor} is ${jsonencode(var.market)}. Give \"on-demand\" or \"spot\"."
  }
}

variable "on_demand_base" {
  description = "Of a flavor with market = \"spot\": so many of its nodes are bought on demand, which EC2 does not take back. Those above it are bought on spot."
  type        = number
  default     = 0

  validation {
    condition     = var.on_demand_base >= 0 && floor(var.on_demand_base) == var.on_demand_base
    error_message = "on_demand_base of ${var.flavor} is ${var.on_demand_base}. Give a whole number of nodes, 0 or more."
  }
}

variable "cpu_credits" {
  description = "CPU credits of a burstable flavor. \"standard\": a node without credits is slow. \"unlimited\": a node without credits costs extra. Null: the default of AWS for the instance type."
  type        = string
  default     = null

  validation {
    condition     = var.cpu_credits == null || contains(["standard", "unlimited"], coalesce(var.cpu_credits, "standard"))
    error_message = "cpu_credits of ${var.flavor} is ${jsonencode(var.cpu_credits)}. Give \"standard\" or \"unlimited\", or leave it out."
  }
}

variable "image" {
  description = "Machine image of the nodes: its ID, the name of its root device, and its architecture."
  type = object({
    id               = string
    root_device_name = string
    architecture     = string
  })
}

variable "user_data_base64" {
  description = "Boot script of the nodes, in base64."
  type        = string
}

variable "volume_gb" {
  description = "Size of a node's encrypted root volume in GB."
  type        = number
  default     = 20

  validation {
    condition     = var.volume_gb >= 8 && var.volume_gb <= 16384
    error_message = "volume_gb of ${var.flavor} is ${var.volume_gb}. Give 8 to 16384 GB: the image needs 8, and a gp3 volume has at most 16384."
  }
}

variable "subnet_ids" {
  description = "IDs of the subnets where the nodes may start. Give one subnet to keep all nodes in one zone."
  type        = list(string)

  validation {
    condition     = length(var.subnet_ids) >= 1
    error_message = "subnet_ids is empty, so nodes of ${var.flavor} could not start. Name at least one subnet."
  }
}

variable "security_group_id" {
  description = "ID of the security group of the nodes."
  type        = string
}

variable "key_name" {
  description = "Name of the EC2 key pair that may log in."
  type        = string
}

variable "instance_profile" {
  description = "Name of the nodes' instance profile."
  type        = string
}

variable "placement_group" {
  description = "Name of the cluster placement group. A flavor that EC2 does not take into one ignores it. Null: no placement group."
  type        = string
  default     = null
}

variable "detailed_monitoring" {
  description = "Whether CloudWatch collects the metrics of the nodes every minute, which costs extra."
  type        = bool
  default     = false
}

variable "group_metrics" {
  description = "Whether the Auto Scaling group tells CloudWatch every minute how many instances it has. Auto Scaling charges nothing for it."
  type        = bool
  default     = false
}

variable "tags" {
  description = "Tags of every resource, and of the instances, their volumes and their network interfaces."
  type        = map(string)
  default     = {}
}
