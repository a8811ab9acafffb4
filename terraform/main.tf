locals {
  tags = merge(var.tags, { "centavo:cluster" = var.cluster })

  # The head needs a public address for SSH from outside. Systems Manager does not need one.
  head_public = length(var.head.ssh_from) > 0

  head_zone    = coalesce(var.training_zone, var.availability_zones[0])
  worker_zones = var.training_zone == null ? var.availability_zones : [var.training_zone]

  user_data_base64 = base64encode(templatefile("${path.module}/templates/user_data.tftpl", {
    first_boot = templatefile("${path.module}/templates/boot.sh.tftpl", {
      login_user      = var.login_user
      fact_path       = var.fact_path
      system_packages = var.system_packages
    })
    every_boot = templatefile("${path.module}/templates/every_boot.sh.tftpl", {
      login_user = var.login_user
    })
  }))

  image = {
    id               = data.aws_ami.this.id
    root_device_name = data.aws_ami.this.root_device_name
    architecture     = data.aws_ami.this.architecture
  }

  kms_key_arn = var.customer_key ? module.key[0].arn : null
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

module "network" {
  source = "./modules/network"

  name               = var.cluster
  region             = data.aws_region.this.name
  cidr               = var.vpc_cidr
  availability_zones = var.availability_zones
  nat_gateways       = var.nat_gateways
  tags               = local.tags
}

module "firewall" {
  source = "./modules/firewall"

  name     = var.cluster
  vpc_id   = module.network.vpc_id
  vpc_cidr = var.vpc_cidr
  ssh_from = var.head.ssh_from
  ssh_port = var.ssh_port
  tags     = local.tags
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
}

module "access" {
  source = "./modules/access"

  name           = var.cluster
  ssh_public_key = var.ssh_public_key
  bucket_arn     = module.storage.bucket_arn
  kms_key_arn    = local.kms_key_arn
  tags           = local.tags
}

module "logs" {
  source = "./modules/logs"
  count  = var.flow_logs ? 1 : 0

  name        = var.cluster
  vpc_id      = module.network.vpc_id
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
  user_data_base64  = local.user_data_base64
  subnet_id         = local.head_public ? module.network.public_subnet_ids[local.head_zone] : module.network.private_subnet_ids[local.head_zone]
  public            = local.head_public
  security_group_id = module.firewall.head_security_group_id
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
  cpu_credits       = each.value.cpu_credits
  volume_gb         = each.value.volume_gb
  image             = local.image
  user_data_base64  = local.user_data_base64
  subnet_ids        = [for zone in local.worker_zones : module.network.private_subnet_ids[zone]]
  security_group_id = module.firewall.worker_security_group_id
  key_name          = module.access.key_name
  instance_profile  = module.access.worker_instance_profile
  placement_group   = one(aws_placement_group.this[*].name)

  detailed_monitoring = var.detailed_monitoring
  tags                = local.tags
}
