# The first three variables say what the nodes are. Change their defaults here. Or set them for a while from outside, as
# TF_VAR_flavors, TF_VAR_head and TF_VAR_image.
variable "flavors" {
  description = "Instance types that a fleet may have. market = \"spot\" buys a flavor at the spot price: EC2 then places it by its strategy price-capacity-optimized. on_demand_base = 2 buys the first two of its nodes on demand."
  type        = map(object({ max_nodes = number, volume_gb = number, market = optional(string, "on-demand"), on_demand_base = optional(number, 0) }))
  default = {
    "t2.medium"  = { max_nodes = 12, volume_gb = 30 }
    "t2.large"   = { max_nodes = 12, volume_gb = 30 }
    "t2.xlarge"  = { max_nodes = 12, volume_gb = 30 }
    "c5.large"   = { max_nodes = 12, volume_gb = 30 }
    "c5.xlarge"  = { max_nodes = 12, volume_gb = 30 }
    "c5.2xlarge" = { max_nodes = 12, volume_gb = 30 }
  }
}

# With a range of addresses in ssh_from, such as ["203.0.113.7/32"], the head gets a public address, and this range may open SSH to
# it. Without one the controller reaches the head through Systems Manager, which needs the AWS CLI and its Session Manager plugin.
variable "head" {
  description = "The head: its instance type, the size of its volume in GB, and the ranges of addresses that may open SSH to it."
  type        = object({ instance_type = string, volume_gb = number, ssh_from = list(string) })
  default = {
    instance_type = "t3.small"
    volume_gb     = 30
    ssh_from      = []
  }
}

# Debian's Python 3.11 is the one that the training is tested on. `make image` makes an image of your own (owner "self") from it, whose
# nodes install nothing.
variable "image" {
  description = "Machine image of all nodes, by its owner and its whole name."
  type        = object({ owner = string, name = string })
  default = {
    owner = "136693071363" # Debian
    name  = "debian-12-amd64-20251006-2257"
  }
}

variable "capacity" {
  description = "Number of nodes of each flavor. The value comes from the capacity file (capacity.auto.tfvars.json), which the controller writes."
  type        = map(number)
}

variable "ssh_public_key" {
  description = "OpenSSH public key that may log in to the nodes. The controller passes it as TF_VAR_ssh_public_key."
  type        = string
}

variable "max_retries" {
  description = "How many times the provider repeats a failed call to the AWS API."
  type        = number
  default     = 8
}

variable "alarm_email" {
  description = "Address that is mailed when a run makes no progress, nears its budget, or leaves workers without a controller. Set `metrics: { cloudwatch: true }` in centavo.yml with it."
  type        = string
  default     = null

  validation {
    condition     = var.alarm_email == null || try(yamldecode(file("${path.module}/centavo.yml")).metrics.cloudwatch, false)
    error_message = "alarm_email is given, and centavo.yml sends no metrics for the alarms to watch: every worker would count as left without a controller. Set metrics: { cloudwatch: true } in centavo.yml."
  }
}
