locals {
  name = "${var.cluster}-${var.flavor}"
  spot = var.market == "spot"

  tags = merge(var.tags, {
    Name              = local.name
    "centavo:cluster" = var.cluster
    "centavo:role"    = "worker"
    "centavo:flavor"  = var.flavor
  })

  # EC2 takes only some instance types into a cluster placement group. Burstable types such as t2 and t3 are not among them.
  placement_group = contains(data.aws_ec2_instance_type.this.supported_placement_strategies, "cluster") ? var.placement_group : null
}

data "aws_ec2_instance_type" "this" {
  instance_type = var.flavor
}

resource "aws_launch_template" "this" {
  name                   = local.name
  description            = "Worker of flavor ${var.flavor}"
  update_default_version = true

  image_id               = var.image.id
  instance_type          = var.flavor
  key_name               = var.key_name
  user_data              = var.user_data_base64
  vpc_security_group_ids = [var.security_group_id]

  iam_instance_profile {
    name = var.instance_profile
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "enabled"
  }

  monitoring {
    enabled = var.detailed_monitoring
  }

  block_device_mappings {
    device_name = var.image.root_device_name

    ebs {
      volume_type           = "gp3"
      volume_size           = var.volume_gb
      encrypted             = true
      delete_on_termination = true
    }
  }

  dynamic "credit_specification" {
    for_each = var.cpu_credits == null ? [] : [var.cpu_credits]

    content {
      cpu_credits = credit_specification.value
    }
  }

  dynamic "tag_specifications" {
    for_each = toset(["instance", "volume", "network-interface"])

    content {
      resource_type = tag_specifications.value
      tags          = local.tags
    }
  }

  tags = local.tags

  lifecycle {
    precondition {
      condition     = contains(data.aws_ec2_instance_type.this.supported_architectures, var.image.architecture)
      error_message = "${var.flavor} cannot run the image ${var.image.id}, which is made for ${var.image.architecture}. Remove ${var.flavor} from flavors, or name an image for ${join(" or ", data.aws_ec2_instance_type.this.supported_architectures)}."
    }

    precondition {
      condition     = local.spot || var.on_demand_base == 0
      error_message = "on_demand_base of ${var.flavor} is ${var.on_demand_base}, but all its nodes are bought on demand. Set its market to \"spot\", or remove on_demand_base from its settings in flavors."
    }

    precondition {
      condition     = var.cpu_credits == null || data.aws_ec2_instance_type.this.burstable_performance_supported
      error_message = "cpu_credits of ${var.flavor} is ${jsonencode(var.cpu_credits)}, but this flavor is not burstable and has no CPU credits. Remove cpu_credits from its settings in flavors."
    }
  }
}

resource "aws_autoscaling_group" "this" {
  name                = local.name
  vpc_zone_identifier = var.subnet_ids
  placement_group     = local.placement_group

  min_size         = 0
  max_size         = var.max_nodes
  desired_capacity = var.capacity

  # An apply must not wait for nodes, and must not fail when EC2 has no capacity. The controller waits for the nodes itself, and
  # lowers the capacity again when they do not come (hashicorp/terraform-provider-aws issues 29753 and 33665).
  wait_for_capacity_timeout        = "0"
  ignore_failed_scaling_activities = true

  # Only instances that the controller has drained may be terminated. The controller lifts their protection before it lowers the
  # capacity. For the same reason there is no instance refresh, and no rebalancing between zones.
  protect_from_scale_in = true
  suspended_processes   = ["AZRebalance"]
  force_delete          = true

  enabled_metrics = var.group_metrics ? ["GroupInServiceInstances"] : null

  health_check_type         = "EC2"
  health_check_grace_period = 300

  dynamic "launch_template" {
    for_each = local.spot ? [] : [aws_launch_template.this]

    content {
      id      = launch_template.value.id
      version = launch_template.value.latest_version
    }
  }

  dynamic "mixed_instances_policy" {
    for_each = local.spot ? [aws_launch_template.this] : []

    content {
      instances_distribution {
        on_demand_base_capacity                  = var.on_demand_base
        on_demand_percentage_above_base_capacity = 0
        spot_allocation_strategy                 = "price-capacity-optimized"
      }

      launch_template {
        launch_template_specification {
          launch_template_id = mixed_instances_policy.value.id
          version            = mixed_instances_policy.value.latest_version
        }
      }
    }
  }

  dynamic "tag" {
    for_each = local.tags

    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = true
    }
  }
}
