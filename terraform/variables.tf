variable "cluster" {
  description = "Name of the cluster. Everything is named after it and tagged with it; roles bear it, so it is unique in the account."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,23}[a-z0-9]$", var.cluster))
    error_message = "cluster must be 3 to 25 lower-case letters, digits and hyphens, with a letter first and no hyphen last, such as centavo-training."
  }
}

variable "flavors" {
  description = <<-EOT
    What nodes there may be, by EC2 instance type. Each flavor gets a launch template and an Auto Scaling group, also at capacity 0.
    max_nodes: most nodes of it, ever. market: on-demand or spot. cpu_credits: standard or unlimited, for burstable types.
    volume_gb: size of the root volume.
  EOT
  type = map(object({
    max_nodes   = number
    market      = optional(string, "on-demand")
    cpu_credits = optional(string)
    volume_gb   = optional(number, 20)
  }))

  validation {
    condition     = length(var.flavors) >= 1
    error_message = "flavors is empty. Name at least one instance type, such as { \"c5.xlarge\" = { max_nodes = 4 } }."
  }

  validation {
    condition     = alltrue([for flavor in keys(var.flavors) : can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", flavor))])
    error_message = "flavors holds a name that is no EC2 instance type. Write them as EC2 does, such as c5.xlarge."
  }
}

variable "capacity" {
  description = "Nodes of each flavor. The capacity file alone sets it (capacity.auto.tfvars.json, which the controller writes); a flavor that is not in it has none."
  type        = map(number)

  validation {
    condition     = alltrue([for nodes in values(var.capacity) : nodes >= 0 && floor(nodes) == nodes])
    error_message = "capacity must hold whole numbers of nodes, 0 or more. Correct the capacity file."
  }

  validation {
    condition     = length(setsubtract(keys(var.capacity), keys(var.flavors))) == 0
    error_message = "capacity names a flavor that is not in flavors: ${join(", ", setsubtract(keys(var.capacity), keys(var.flavors)))}. Add it to flavors, or take it out of the capacity file."
  }

  validation {
    condition     = alltrue([for flavor, nodes in var.capacity : nodes <= try(var.flavors[flavor].max_nodes, nodes)])
    error_message = "capacity is over max_nodes for: ${join(", ", [for flavor, nodes in var.capacity : "${flavor} (${nodes})" if nodes > try(var.flavors[flavor].max_nodes, nodes)])}. Lower it in the capacity file, or raise max_nodes."
  }
}

variable "head" {
  description = <<-EOT
    The instance that starts and watches the training. instance_type: a small one does. volume_gb: size of its root volume.
    ssh_from: IPv4 ranges that may open SSH to it, which gives it a public address. Empty: it has a private address alone, and is
    reached through Systems Manager or from inside the VPC.
  EOT
  type = object({
    instance_type = optional(string, "t3.micro")
    volume_gb     = optional(number, 20)
    ssh_from      = optional(list(string), [])
  })
  default = {}
}

variable "ssh_public_key" {
  description = "OpenSSH public key (Ed25519 or RSA) that may log in to the nodes. The controller hands it over as TF_VAR_ssh_public_key."
  type        = string
}

variable "ssh_port" {
  description = "TCP port on which the nodes listen for SSH."
  type        = number
  default     = 22
}

variable "vpc_cidr" {
  description = "Address range of the VPC, a /16 to /20."
  type        = string
  default     = "10.20.0.0/16"
}

variable "availability_zones" {
  description = "Zones that get subnets, of the provider's region. Append new ones at the end."
  type        = list(string)
}

variable "training_zone" {
  description = "The zone where all nodes start: allreduce traffic between zones costs money and time. Null spreads them over all zones."
  type        = string
  default     = null

  validation {
    condition     = var.training_zone == null || contains(var.availability_zones, coalesce(var.training_zone, "-"))
    error_message = "training_zone is not one of availability_zones. Add it there, or name another."
  }
}

variable "nat_gateways" {
  description = "NAT gateways for the private subnets: 0 for no way out, 1 for a cheap one, one per zone for one that survives the loss of a zone."
  type        = number
  default     = 1
}

variable "placement_group" {
  description = "Whether nodes are placed next to each other, for a faster allreduce; flavors that EC2 cannot place so (t2, t3) go without."
  type        = bool
  default     = false

  validation {
    condition     = !var.placement_group || var.training_zone != null
    error_message = "placement_group needs a training_zone: a cluster placement group lies in one zone."
  }
}

variable "image" {
  description = "Machine image of all nodes, by owner and whole name, so that it is the same in every region and changes only when you say so."
  type = object({
    owner = string
    name  = string
  })

  validation {
    condition     = !strcontains(var.image.name, "*") && !strcontains(var.image.name, "?")
    error_message = "image.name must be a whole name without wildcards: a newer image would change the nodes under a running training."
  }
}

variable "login_user" {
  description = "User who logs in to the nodes and owns the folder of the facts. Empty: whoever runs the boot script."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^([a-z_][a-z0-9_-]*)?$", var.login_user))
    error_message = "login_user must be a Unix user name, such as ubuntu, or empty."
  }
}

variable "fact_path" {
  description = "Folder of the iteration facts on every node; ~ at its beginning is the login user's home."
  type        = string
  default     = "/etc/ansible/facts.d"

  validation {
    condition     = can(regex("^(/|~/)[A-Za-z0-9._/-]+$", var.fact_path))
    error_message = "fact_path must be an absolute path or begin with ~/, without spaces or quotes, such as /etc/ansible/facts.d."
  }
}

variable "system_packages" {
  description = "Debian packages that a node installs when it boots. Empty: none."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for package in var.system_packages : can(regex("^[a-z0-9][a-z0-9.+-]+$", package))])
    error_message = "system_packages must hold names of Debian packages, such as python3-venv."
  }
}

variable "customer_key" {
  description = "Whether a KMS key of your own encrypts the bucket and the logs, about a dollar a month; otherwise AWS's keys do."
  type        = bool
  default     = true
}

variable "flow_logs" {
  description = "Whether refused connections in the VPC are logged to CloudWatch."
  type        = bool
  default     = true
}

variable "detailed_monitoring" {
  description = "Whether CloudWatch gets metrics of the instances every minute, which costs extra. The controller does not use them."
  type        = bool
  default     = false
}

variable "check_quotas" {
  description = "Whether the vCPU quotas of the account are compared with the capacity before anything is made."
  type        = bool
  default     = true
}

variable "destroy_results" {
  description = "Whether a destroy also deletes the checkpoints and results in the bucket. False: it fails until somebody empties the bucket."
  type        = bool
  default     = false
}

variable "require_tls" {
  description = "Whether the bucket refuses requests that do not come over TLS. False only where the endpoint has none, on loopback."
  type        = bool
  default     = true
}

variable "keep_deleted_days" {
  description = "Days that overwritten and deleted checkpoints and results are kept; null keeps them until the bucket goes."
  type        = number
  default     = 30
}

variable "tags" {
  description = "Tags of everything, for cost allocation. Instances show them in their metadata, so keys hold no spaces and no slashes."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for key in keys(var.tags) : can(regex("^[A-Za-z0-9+=.,_:@-]{1,128}$", key))])
    error_message = "tags holds a key with a space, a slash or another character that instance metadata cannot show. Use letters, digits and + - = . , _ : @"
  }

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:") && !startswith(key, "centavo:")])
    error_message = "tags must not hold keys that begin with aws: or centavo:, which AWS and Centavo set themselves."
  }
}
