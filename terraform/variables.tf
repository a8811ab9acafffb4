variable "cluster" {
  description = "Name of the cluster. All resources are named after it and tagged with it. IAM roles are too, so no two clusters of an account may share a name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,23}[a-z0-9]$", var.cluster))
    error_message = "cluster is ${jsonencode(var.cluster)}. Give it 3 to 25 lower-case letters, digits and hyphens, with a letter first and no hyphen last, such as \"centavo-training\"."
  }
}

variable "flavors" {
  description = <<-EOT
    Flavors (EC2 instance types) that the fleet may use. Each flavor gets a launch template and an Auto Scaling group, even when
    its capacity is 0. max_nodes: the largest number of its nodes at any time. market: "on-demand" or "spot". on_demand_base:
    how many nodes of a spot flavor are bought on demand before any is bought on spot, so that a fleet keeps a floor. cpu_credits:
    "standard" or "unlimited", for burstable flavors only. volume_gb: size of a node's root volume in GB.
  EOT
  type = map(object({
    max_nodes      = number
    market         = optional(string, "on-demand")
    on_demand_base = optional(number, 0)
    cpu_credits    = optional(string)
    volume_gb      = optional(number, 20)
  }))

  validation {
    condition     = length(var.flavors) >= 1
    error_message = "flavors is empty. Name at least one instance type, such as { \"c5.xlarge\" = { max_nodes = 4 } }."
  }

  validation {
    condition     = alltrue([for flavor in keys(var.flavors) : can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", flavor))])
    error_message = "flavors holds names that are no EC2 instance types: ${join(", ", [for flavor in keys(var.flavors) : jsonencode(flavor) if !can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", flavor))])}. Write each name as EC2 does, such as \"c5.xlarge\"."
  }
}

variable "capacity" {
  description = "Number of nodes of each flavor. A flavor that is left out has none. The value comes from the capacity file (capacity.auto.tfvars.json), which the controller writes."
  type        = map(number)

  validation {
    condition     = alltrue([for nodes in values(var.capacity) : nodes >= 0 && floor(nodes) == nodes])
    error_message = "capacity is not a whole number of nodes, 0 or more, for: ${join(", ", [for flavor, nodes in var.capacity : "${flavor} (${nodes})" if nodes < 0 || floor(nodes) != nodes])}. Correct the capacity file."
  }

  validation {
    condition     = length(setsubtract(keys(var.capacity), keys(var.flavors))) == 0
    error_message = "capacity names flavors that flavors does not hold: ${join(", ", setsubtract(keys(var.capacity), keys(var.flavors)))}. Add them to flavors, or remove them from the capacity file."
  }

  validation {
    condition     = alltrue([for flavor, nodes in var.capacity : nodes <= try(var.flavors[flavor].max_nodes, nodes)])
    error_message = "capacity is larger than max_nodes for: ${join(", ", [for flavor, nodes in var.capacity : "${flavor} (${nodes} > ${var.flavors[flavor].max_nodes})" if nodes > try(var.flavors[flavor].max_nodes, nodes)])}. Lower it in the capacity file, or raise max_nodes in flavors."
  }
}

variable "head" {
  description = <<-EOT
    The head starts and watches the training, and does not train itself. instance_type: its EC2 instance type. The head compiles
    Horovod unless its image or a wheelhouse has it ready, and the compilation needs more than 4 GiB of memory. volume_gb: size
    of its root volume in GB. ssh_from: IPv4 ranges that may open SSH to the head. With a range the head gets a public address.
    Without one it has a private address only. session_manager: whether a head without a public address is reached through
    Systems Manager, whose agent it then installs. False: you have a way of your own to private addresses, such as a VPN.
  EOT
  type = object({
    instance_type   = optional(string, "t3.micro")
    volume_gb       = optional(number, 20)
    ssh_from        = optional(list(string), [])
    session_manager = optional(bool, true)
  })
  default = {}

  validation {
    condition     = length(var.head.ssh_from) > 0 || !var.head.session_manager || var.nat_gateways > 0 || var.existing_network != null
    error_message = "Nothing would reach the head: head.ssh_from is empty, so it gets no public address, and with nat_gateways = 0 it does not reach Systems Manager. Name the range of your own addresses in head.ssh_from, or set nat_gateways to 1. If you reach private addresses in another way, such as a VPN, set head.session_manager to false."
  }

  validation {
    condition     = length(var.head.ssh_from) == 0 || try(contains(keys(var.existing_network.public_subnet_ids), coalesce(var.training_zone, var.availability_zones[0])), true)
    error_message = "existing_network.public_subnet_ids names no subnet for ${coalesce(var.training_zone, var.availability_zones[0])}. The head needs a public subnet there, because head.ssh_from gives it a public address. Name one, or leave head.ssh_from empty."
  }
}

variable "ssh_public_key" {
  description = "OpenSSH public key (Ed25519 or RSA) that may log in to the nodes. The controller passes it as TF_VAR_ssh_public_key."
  type        = string
}

variable "ssh_port" {
  description = "TCP port on which the nodes listen for SSH."
  type        = number
  default     = 22
}

variable "existing_network" {
  description = <<-EOT
    A VPC of your own, in which the nodes start. Null: Terraform makes one. private_subnet_ids: by availability zone the subnet of
    the workers, and of a head without a public address. They need a way to the internet or VPC endpoints, and an S3 endpoint
    saves the costs of checkpoints' traffic. public_subnet_ids: by availability zone the subnet of a head with a public address.
    vpc_cidr, nat_gateways and flow_logs have no effect then.
  EOT
  type = object({
    vpc_id             = string
    private_subnet_ids = map(string)
    public_subnet_ids  = optional(map(string), {})
  })
  default = null

  validation {
    condition     = var.existing_network == null || can(regex("^vpc-[0-9a-f]+$", var.existing_network.vpc_id))
    error_message = "existing_network.vpc_id is ${try(jsonencode(var.existing_network.vpc_id), "")}, which is no ID of a VPC. Give one such as \"vpc-0123456789abcdef0\"."
  }

  validation {
    condition     = try(length(setsubtract(var.availability_zones, keys(var.existing_network.private_subnet_ids))) == 0, true)
    error_message = "existing_network.private_subnet_ids names no subnet for: ${try(join(", ", setsubtract(var.availability_zones, keys(var.existing_network.private_subnet_ids))), "")}. Name one for each of availability_zones, or remove the zone there."
  }
}

variable "existing_security_groups" {
  description = <<-EOT
    IDs of security groups of your own, for the head and for the workers. Null: Terraform makes them. Head and workers must
    accept SSH from each other, and all unprivileged ports from each other and among themselves. Both need HTTPS and HTTP to the
    outside. head.ssh_from then says only that the head gets a public address: your group decides who may
    open SSH to it.
  EOT
  type = object({
    head   = string
    worker = string
  })
  default = null

  validation {
    condition     = var.existing_security_groups == null || try(alltrue([for id in values(var.existing_security_groups) : can(regex("^sg-[0-9a-f]+$", id))]), false)
    error_message = "existing_security_groups holds texts that are no IDs of security groups: ${try(join(", ", [for id in values(var.existing_security_groups) : jsonencode(id) if !can(regex("^sg-[0-9a-f]+$", id))]), "")}. Give IDs such as \"sg-0123456789abcdef0\"."
  }

  validation {
    condition     = var.existing_security_groups == null || var.existing_network != null
    error_message = "existing_security_groups is given and existing_network is not. A security group belongs to a VPC: name that VPC in existing_network."
  }
}

variable "existing_instance_profiles" {
  description = <<-EOT
    Names of instance profiles of your own, for the head and for the workers, for accounts in which you may not make IAM roles.
    Null: Terraform makes them. Both roles need what modules/access gives them: the objects of the bucket and, with
    customer_key, its key, and the log group; what the dead man's switch does; the head's role also what Systems Manager needs
    for sessions.
  EOT
  type = object({
    head   = string
    worker = string
  })
  default = null

  validation {
    condition     = var.existing_instance_profiles == null || try(alltrue([for name in values(var.existing_instance_profiles) : can(regex("^[A-Za-z0-9+=,.@_-]{1,128}$", name))]), false)
    error_message = "existing_instance_profiles holds texts that are no names of instance profiles: ${try(join(", ", [for name in values(var.existing_instance_profiles) : jsonencode(name) if !can(regex("^[A-Za-z0-9+=,.@_-]{1,128}$", name))]), "")}. Give the names, not the ARNs."
  }
}

variable "vpc_cidr" {
  description = "Address range of the VPC, from /16 to /20."
  type        = string
  default     = "10.20.0.0/16"
}

variable "availability_zones" {
  description = "Availability zones that get subnets, all in the provider's region. Append new zones at the end: the order decides the addresses of the subnets."
  type        = list(string)
}

variable "training_zone" {
  description = "Zone where all nodes start. Allreduce traffic between zones costs money and time. Null: workers spread over all zones."
  type        = string
  default     = null

  validation {
    condition     = var.training_zone == null || contains(var.availability_zones, coalesce(var.training_zone, "-"))
    error_message = "training_zone is ${jsonencode(var.training_zone)}, which is not in availability_zones (${join(", ", var.availability_zones)}). Add it there, or name one of them."
  }
}

variable "nat_gateways" {
  description = "Number of NAT gateways, through which the private subnets reach the internet. 0: they do not reach it. 1: all zones share one, which costs least. One per zone: the loss of a zone does not cut off the others."
  type        = number
  default     = 1
}

variable "placement_group" {
  description = "Whether EC2 places the workers close together, for a faster allreduce. Burstable flavors (t2, t3) start outside the placement group, because EC2 does not take them into one."
  type        = bool
  default     = false

  validation {
    condition     = !var.placement_group || var.training_zone != null
    error_message = "placement_group is true and training_zone is null. A cluster placement group lies in one zone: name it in training_zone, or set placement_group to false."
  }
}

variable "image" {
  description = "Machine image of all nodes, by its owner and its whole name. Unlike an image ID, the name is the same in every region. The image changes only when you change the name."
  type = object({
    owner = string
    name  = string
  })

  validation {
    condition     = !strcontains(var.image.name, "*") && !strcontains(var.image.name, "?")
    error_message = "image.name is ${jsonencode(var.image.name)}, which holds a wildcard. Give the whole name of one image: with a wildcard, a newer image would change the nodes under a running training."
  }
}

variable "login_user" {
  description = "User who logs in to the nodes and owns the folder of the iteration facts. Empty: the user who runs the boot script."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^([a-z_][a-z0-9_-]*)?$", var.login_user))
    error_message = "login_user is ${jsonencode(var.login_user)}, which is no Unix user name. Give one such as \"ubuntu\", or leave it empty."
  }
}

variable "fact_path" {
  description = "Folder of the iteration facts on every node. A leading ~ stands for the login user's home."
  type        = string
  default     = "/etc/ansible/facts.d"

  validation {
    condition     = can(regex("^(/|~/)[A-Za-z0-9._/-]+$", var.fact_path))
    error_message = "fact_path is ${jsonencode(var.fact_path)}. Give a path that begins with / or ~/ and holds letters, digits and . _ - / only, such as \"/etc/ansible/facts.d\"."
  }
}

variable "system_packages" {
  description = "Debian packages that a node installs when it boots."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for package in var.system_packages : can(regex("^[a-z0-9][a-z0-9.+-]+$", package))])
    error_message = "system_packages holds names that no Debian package has: ${join(", ", [for package in var.system_packages : jsonencode(package) if !can(regex("^[a-z0-9][a-z0-9.+-]+$", package))])}. Name packages such as \"python3-venv\"."
  }
}

variable "controller_on_head" {
  description = <<-EOT
    Whether a controller may run on the head (`make optimize DETACH=1`): its role then may read what Terraform has made, change the
    number of workers, and reboot nodes. state_bucket and state_key: where Terraform's S3 backend has the state, which the role may then
    read and write. state_key_alias: the alias of the KMS key that encrypts that bucket. Null: the head's role may do none of this.
    existing_instance_profiles need the policy of modules/access/controller.json.tftpl for it.
  EOT
  type = object({
    state_bucket    = optional(string)
    state_key       = optional(string)
    state_key_alias = optional(string, "centavo-state")
  })
  default = null

  validation {
    condition     = try(var.controller_on_head.state_bucket == null, true) == try(var.controller_on_head.state_key == null, true)
    error_message = "controller_on_head names only one of state_bucket and state_key. Name both, or neither where the state is a local file."
  }
}

variable "reaper" {
  description = "Whether a Lambda function looks every ten minutes whether the cluster has outlived its lease, and ends it then. With existing_instance_profiles there is none, because it needs a role."
  type        = bool
  default     = true
}

variable "customer_key" {
  description = "Whether a KMS key of your own encrypts the bucket and the logs, for about $1 a month. False: keys of AWS encrypt them."
  type        = bool
  default     = true
}

variable "flow_logs" {
  description = "Whether CloudWatch Logs keeps a log of refused connections in the VPC."
  type        = bool
  default     = true
}

variable "log_retention_days" {
  description = "Number of days that CloudWatch Logs keeps the logs of runs. CloudWatch Logs offers certain numbers only. A destroy deletes them."
  type        = number
  default     = 30

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days is ${var.log_retention_days}. Give a number of days that CloudWatch Logs offers: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653."
  }
}

variable "alarm_email" {
  description = "Address that is mailed when a run makes no progress, has used 80 % of its budget, or has workers that no controller steers. Null: there are no alarms. The alarms watch the metrics that `metrics: { cloudwatch: true }` in centavo.yml sends."
  type        = string
  default     = null
}

variable "detailed_monitoring" {
  description = "Whether CloudWatch collects the metrics of instances every minute, which costs extra. The controller does not use them."
  type        = bool
  default     = false
}

variable "check_quotas" {
  description = "Whether the plan fails when the capacity needs more vCPUs than the quotas of the account allow."
  type        = bool
  default     = true
}

variable "destroy_results" {
  description = "Whether a destroy deletes the checkpoints and results in the bucket too. False: the destroy fails until the bucket holds no object and no old version of one."
  type        = bool
  default     = false
}

variable "require_tls" {
  description = "Whether the bucket refuses requests without TLS. Set it to false only for an endpoint on loopback, which has no TLS."
  type        = bool
  default     = true
}

variable "keep_deleted_days" {
  description = "Number of days that the bucket keeps overwritten and deleted objects. Null: it keeps them until it is destroyed."
  type        = number
  default     = 30
}

variable "tags" {
  description = "Tags of all resources, for cost allocation. Instances show their tags in their metadata, so keys hold no spaces and no slashes."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for key in keys(var.tags) : can(regex("^[A-Za-z0-9+=.,_:@-]{1,128}$", key))])
    error_message = "tags holds keys that instance metadata cannot show: ${join(", ", [for key in keys(var.tags) : jsonencode(key) if !can(regex("^[A-Za-z0-9+=.,_:@-]{1,128}$", key))])}. Build keys of 1 to 128 letters, digits and + - = . , _ : @ only."
  }

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:") && !startswith(key, "centavo:")])
    error_message = "tags holds reserved keys: ${join(", ", [for key in keys(var.tags) : key if startswith(key, "aws:") || startswith(key, "centavo:")])}. Keys that begin with aws: or centavo: are set by AWS and Centavo. Rename yours."
  }
}
