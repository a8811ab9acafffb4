variable "cluster" {
  description = "Name of the cluster, first part of the group's name."
  type        = string
}

variable "flavor" {
  description = "EC2 instance type of the group."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.flavor))
    error_message = "flavor must be an EC2 instance type, such as c5.xlarge."
  }
}

variable "capacity" {
  description = "Nodes that the group holds. The capacity file alone decides it."
  type        = number

  validation {
    condition     = var.capacity >= 0 && floor(var.capacity) == var.capacity
    error_message = "capacity must be a whole number of nodes, 0 or more."
  }

  validation {
    condition     = var.capacity <= var.max_nodes
    error_message = "capacity is over max_nodes of this flavor. Lower it in the capacity file, or raise max_nodes."
  }
}

variable "max_nodes" {
  description = "Most nodes that the group may ever hold."
  type        = number

  validation {
    condition     = var.max_nodes >= 1 && var.max_nodes <= 1000 && floor(var.max_nodes) == var.max_nodes
    error_message = "max_nodes must be a whole number from 1 to 1000. A flavor that shall have no nodes keeps its group with capacity 0."
  }
}

variable "market" {
  description = "How the nodes are bought: on-demand or spot."
  type        = string
  default     = "on-demand"

  validation {
    condition     = contains(["on-demand", "spot"], var.market)
    error_message = "market must be \"on-demand\" or \"spot\"."
  }
}

variable "cpu_credits" {
  description = "For burstable flavors: standard (slow when the credits are used up) or unlimited (costs extra then). Null leaves AWS's default."
  type        = string
  default     = null

  validation {
    condition     = var.cpu_credits == null || contains(["standard", "unlimited"], coalesce(var.cpu_credits, "standard"))
    error_message = "cpu_credits must be \"standard\" or \"unlimited\", or be left out."
  }
}

variable "image" {
  description = "Machine image of the nodes: its ID, the name of its root device, its architecture."
  type = object({
    id               = string
    root_device_name = string
    architecture     = string
  })
}

variable "user_data_base64" {
  description = "Boot script, in base64."
  type        = string
}

variable "volume_gb" {
  description = "Size of a node's encrypted root volume, GB."
  type        = number
  default     = 20

  validation {
    condition     = var.volume_gb >= 8 && var.volume_gb <= 16384
    error_message = "volume_gb must be 8 to 16384 GB: the image needs 8, and gp3 ends there."
  }
}

variable "subnet_ids" {
  description = "Subnets where the nodes may start: one for a training in one zone."
  type        = list(string)

  validation {
    condition     = length(var.subnet_ids) >= 1
    error_message = "subnet_ids must name at least one subnet."
  }
}

variable "security_group_id" {
  description = "Security group of the nodes."
  type        = string
}

variable "key_name" {
  description = "EC2 key pair that may log in."
  type        = string
}

variable "instance_profile" {
  description = "Name of the nodes' instance profile."
  type        = string
}

variable "placement_group" {
  description = "Cluster placement group for flavors that support one; null for none."
  type        = string
  default     = null
}

variable "detailed_monitoring" {
  description = "Whether CloudWatch gets metrics of every minute, which costs extra."
  type        = bool
  default     = false
}

variable "tags" {
  description = "Tags of every resource, the instances and their volumes too."
  type        = map(string)
  default     = {}
}
