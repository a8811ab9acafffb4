locals {
  name = "${var.cluster}-${var.flavor}"
  spot = var.market == "spot"

  tags = merge(var.tags, {
    Name              = local.name
    "centavo:cluster" = var.cluster
    "centavo:role"    = "worker"
    "centavo:flavor"  = var.flavor
  })

  # Only instance types that EC2 can place next to each other go into the placement group; t2 and t3 cannot.
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
      error_message = "${var.flavor} cannot run the image, which is made for ${var.image.architecture}. Take ${var.flavor} out of flavors, or name an image for its architecture."
    }

    precondition {
      condition     = var.cpu_credits == null || data.aws_ec2_instance_type.this.burstable_performance_supported
      error_message = "${var.flavor} earns no CPU credits. Leave cpu_credits out of its settings."
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

  # The controller waits for nodes itself, and takes a flavor that EC2 has no room for back: the apply must neither
  # wait nor fail for it (hashicorp/terraform-provider-aws issues 29753 and 33665).
  wait_for_capacity_timeout        = "0"
  ignore_failed_scaling_activities = true

  # Only instances that the controller has drained may end: it lifts their protection before it lowers the capacity.
  # No instance refresh and no rebalancing between zones, for the same reason.
  protect_from_scale_in = true
  suspended_processes   = ["AZRebalance"]
  force_delete          = true

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
        on_demand_base_capacity                  = 0
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
