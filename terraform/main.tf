locals {
  tags = merge(var.tags, { "centavo:cluster" = var.cluster })

  # SSH from outside needs a public address. A session of Systems Manager needs none, but its agent on the head.
  head_public   = length(var.head.ssh_from) > 0
  head_sessions = !local.head_public && var.head.session_manager

  instance_types = distinct(concat(keys(var.flavors), [var.head.instance_type]))

  head_zone    = coalesce(var.training_zone, var.availability_zones[0])
  worker_zones = var.training_zone == null ? var.availability_zones : [var.training_zone]

  packages = { for role in ["head", "worker"] : role => templatefile("${path.module}/templates/boot.sh.tftpl", {
    login_user      = var.login_user
    fact_path       = var.fact_path
    system_packages = var.system_packages
    agent_region    = role == "head" && local.head_sessions ? data.aws_region.this.name : ""
  }) }

  start = templatefile("${path.module}/templates/every_boot.sh.tftpl", { login_user = var.login_user })
  prepare = templatefile("${path.module}/templates/prepare.sh.tftpl", {
    program = file("${path.module}/templates/boot_bundle.py")
    bucket  = module.storage.bucket
    region  = data.aws_region.this.name
    cluster = var.cluster
  })
  services = { head = local.start, worker = "${local.start}${local.prepare}" }

  user_data_base64 = { for role in ["head", "worker"] : role => base64encode(templatefile("${path.module}/templates/user_data.tftpl", {
    packages = local.packages[role]
    services = local.services[role]
  })) }

  image = {
    id               = data.aws_ami.this.id
    root_device_name = data.aws_ami.this.root_device_name
    architecture     = data.aws_ami.this.architecture
  }

  kms_key_arn = var.customer_key ? module.key[0].arn : null

  network = var.existing_network == null ? {
    vpc_id             = module.network[0].vpc_id
    cidr               = var.vpc_cidr
    private_subnet_ids = module.network[0].private_subnet_ids
    public_subnet_ids  = module.network[0].public_subnet_ids
    } : {
    vpc_id             = var.existing_network.vpc_id
    cidr               = data.aws_vpc.existing[0].cidr_block
    private_subnet_ids = var.existing_network.private_subnet_ids
    public_subnet_ids  = var.existing_network.public_subnet_ids
  }

  security_groups = var.existing_security_groups == null ? {
    head   = module.firewall[0].head_security_group_id
    worker = module.firewall[0].worker_security_group_id
  } : var.existing_security_groups

  # The subnets of an existing network where nodes start, by a name for messages.
  existing_subnets = var.existing_network == null ? {} : merge(
    { for zone, id in var.existing_network.private_subnet_ids : "private_subnet_ids[\"${zone}\"]" => { id = id, zone = zone } },
    { for zone, id in var.existing_network.public_subnet_ids : "public_subnet_ids[\"${zone}\"]" => { id = id, zone = zone } },
  )
}

data "aws_region" "this" {}

# The filter names one image, not "the newest". A newer image would change every launch template under a running training.
data "aws_ami" "this" {
  owners             = [var.image.owner]
  include_deprecated = true

  filter {
    name   = "name"
    values = [var.image.name]
  }
}

data "aws_vpc" "existing" {
  count = var.existing_network == null ? 0 : 1

  id = var.existing_network.vpc_id
}

data "aws_subnet" "existing" {
  for_each = local.existing_subnets

  id = each.value.id

  lifecycle {
    postcondition {
      condition     = self.vpc_id == var.existing_network.vpc_id && self.availability_zone == each.value.zone
      error_message = "existing_network.${each.key} is ${each.value.id}, which lies in ${self.availability_zone} and in ${self.vpc_id}. Name a subnet that lies in ${each.value.zone} and in ${var.existing_network.vpc_id}."
    }
  }
}

data "aws_security_group" "existing" {
  for_each = var.existing_security_groups == null ? {} : var.existing_security_groups

  id = each.value

  lifecycle {
    postcondition {
      condition     = self.vpc_id == var.existing_network.vpc_id
      error_message = "existing_security_groups.${each.key} is ${each.value}, which belongs to ${self.vpc_id}. Name a security group of ${var.existing_network.vpc_id}."
    }
  }
}

# Not every zone has every instance type. An Auto Scaling group would tell so only after the head has been bought.
data "aws_ec2_instance_type_offerings" "zone" {
  count = var.training_zone == null ? 0 : 1

  location_type = "availability-zone"

  filter {
    name   = "location"
    values = [var.training_zone]
  }

  filter {
    name   = "instance-type"
    values = local.instance_types
  }

  lifecycle {
    postcondition {
      condition     = length(setsubtract(local.instance_types, self.instance_types)) == 0
      error_message = "The zone ${var.training_zone} does not offer ${join(", ", setsubtract(local.instance_types, self.instance_types))}. Remove these from flavors (head: change its instance_type), or name another zone in training_zone. `aws ec2 describe-instance-type-offerings --location-type availability-zone --filters Name=instance-type,Values=TYPE` tells which zones offer a type."
    }
  }
}

module "network" {
  source = "./modules/network"
  count  = var.existing_network == null ? 1 : 0

  name               = var.cluster
  region             = data.aws_region.this.name
  cidr               = var.vpc_cidr
  availability_zones = var.availability_zones
  nat_gateways       = var.nat_gateways
  tags               = local.tags
}

moved {
  from = module.network
  to   = module.network[0]
}

module "firewall" {
  source = "./modules/firewall"
  count  = var.existing_security_groups == null ? 1 : 0

  name     = var.cluster
  vpc_id   = local.network.vpc_id
  vpc_cidr = local.network.cidr
  ssh_from = var.head.ssh_from
  ssh_port = var.ssh_port
  tags     = local.tags
}

moved {
  from = module.firewall
  to   = module.firewall[0]
}

module "key" {
  source = "./modules/key"
  count  = var.customer_key ? 1 : 0

  name   = var.cluster
  region = data.aws_region.this.name
  tags   = local.tags
}

module "storage" {
  source = "./modules/storage"

  name            = var.cluster
  kms_key_arn     = local.kms_key_arn
  noncurrent_days = var.keep_deleted_days
  force_destroy   = var.destroy_results
  require_tls     = var.require_tls
  tags            = local.tags

  # A destroy that fails at the bucket must not have scheduled the deletion of the key, which the objects are read with.
  depends_on = [module.key]
}

# The logs of runs: each log of a run has a stream of its own (controller/shipping/streams.py has the names).
resource "aws_cloudwatch_log_group" "runs" {
  name              = "/centavo/${var.cluster}"
  retention_in_days = var.log_retention_days
  kms_key_id        = local.kms_key_arn

  tags = merge(local.tags, { Name = var.cluster })
}

module "access" {
  source = "./modules/access"

  name           = var.cluster
  ssh_public_key = var.ssh_public_key
  bucket_arn     = module.storage.bucket_arn
  kms_key_arn    = local.kms_key_arn
  log_group_arn  = aws_cloudwatch_log_group.runs.arn
  controller     = var.controller_on_head
  profiles       = var.existing_instance_profiles
  tags           = local.tags
}

# In an account in which no IAM role may be made, the head and the workers end themselves, and `centavo reap` is called by hand.
module "reaper" {
  source = "./modules/reaper"
  count  = var.reaper && var.existing_instance_profiles == null ? 1 : 0

  name        = var.cluster
  region      = data.aws_region.this.name
  bucket      = module.storage.bucket
  bucket_arn  = module.storage.bucket_arn
  kms_key_arn = local.kms_key_arn
  tags        = local.tags
}

# An existing VPC may serve others too, so its log is not this cluster's to make.
module "logs" {
  source = "./modules/logs"
  count  = var.flow_logs && var.existing_network == null ? 1 : 0

  name        = var.cluster
  vpc_id      = local.network.vpc_id
  kms_key_arn = local.kms_key_arn
  tags        = local.tags
}

module "quotas" {
  source = "./modules/quotas"
  count  = var.check_quotas ? 1 : 0

  groups = concat(
    [for flavor, settings in var.flavors : { flavor = flavor, market = settings.market, nodes = lookup(var.capacity, flavor, 0) }],
    [{ flavor = var.head.instance_type, market = "on-demand", nodes = 1 }],
  )
}

resource "aws_placement_group" "this" {
  count = var.placement_group ? 1 : 0

  name     = var.cluster
  strategy = "cluster"

  tags = merge(local.tags, { Name = var.cluster })
}

module "head" {
  source = "./modules/head"

  cluster           = var.cluster
  instance_type     = var.head.instance_type
  volume_gb         = var.head.volume_gb
  image             = local.image
  user_data_base64  = local.user_data_base64["head"]
  subnet_id         = local.head_public ? local.network.public_subnet_ids[local.head_zone] : local.network.private_subnet_ids[local.head_zone]
  public            = local.head_public
  security_group_id = local.security_groups.head
  key_name          = module.access.key_name
  instance_profile  = module.access.head_instance_profile

  detailed_monitoring = var.detailed_monitoring
  tags                = local.tags
}

module "flavor" {
  source   = "./modules/flavor"
  for_each = var.flavors

  cluster           = var.cluster
  flavor            = each.key
  capacity          = lookup(var.capacity, each.key, 0)
  max_nodes         = each.value.max_nodes
  market            = each.value.market
  on_demand_base    = each.value.on_demand_base
  cpu_credits       = each.value.cpu_credits
  volume_gb         = each.value.volume_gb
  image             = local.image
  user_data_base64  = local.user_data_base64["worker"]
  subnet_ids        = [for zone in local.worker_zones : local.network.private_subnet_ids[zone]]
  security_group_id = local.security_groups.worker
  key_name          = module.access.key_name
  instance_profile  = module.access.worker_instance_profile
  placement_group   = one(aws_placement_group.this[*].name)

  detailed_monitoring = var.detailed_monitoring
  group_metrics       = var.alarm_email != null
  tags                = local.tags
}

module "alarms" {
  source = "./modules/alarms"
  count  = var.alarm_email == null ? 0 : 1

  name   = var.cluster
  email  = var.alarm_email
  groups = { for flavor, group in module.flavor : flavor => group.autoscaling_group }
  tags   = local.tags
}
