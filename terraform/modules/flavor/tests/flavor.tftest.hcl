mock_provider "aws" {
  mock_data "aws_ec2_instance_type" {
    defaults = {
      default_vcpus                   = 4
      memory_size                     = 8192
      supported_architectures         = ["x86_64"]
      supported_placement_strategies  = ["cluster", "partition", "spread"]
      burstable_performance_supported = false
    }
  }
}

variables {
  cluster           = "unit"
  flavor            = "c5.xlarge"
  capacity          = 2
  max_nodes         = 4
  image             = { id = "ami-0123456789abcdef0", root_device_name = "/dev/sda1", architecture = "x86_64" }
  user_data_base64  = "IyEvYmluL2Jhc2gK"
  subnet_ids        = ["subnet-0123456789abcdef0"]
  security_group_id = "sg-0123456789abcdef0"
  key_name          = "unit"
  instance_profile  = "unit-worker"
  placement_group   = "unit"
  tags              = { Project = "unit-test" }
}

run "an_on_demand_group_has_the_capacity_of_the_capacity_file" {
  command = plan

  assert {
    condition     = aws_autoscaling_group.this.name == "unit-c5.xlarge"
    error_message = "The group must be named CLUSTER-FLAVOR."
  }

  assert {
    condition     = aws_autoscaling_group.this.desired_capacity == 2 && aws_autoscaling_group.this.min_size == 0 && aws_autoscaling_group.this.max_size == 4
    error_message = "The desired capacity must be capacity, the minimum 0 and the maximum max_nodes."
  }

  assert {
    condition     = length(aws_autoscaling_group.this.launch_template) == 1 && length(aws_autoscaling_group.this.mixed_instances_policy) == 0
    error_message = "An on-demand group must use its launch template without a mixed instances policy."
  }

  assert {
    condition     = output.market == "on-demand" && output.vcpus == 4 && output.memory_bytes == 8589934592 && output.max_nodes == 4
    error_message = "The outputs must hold the market, vCPUs, memory in bytes and max_nodes."
  }
}

run "only_the_controller_decides_which_nodes_are_terminated" {
  command = plan

  assert {
    condition     = aws_autoscaling_group.this.protect_from_scale_in && contains(aws_autoscaling_group.this.suspended_processes, "AZRebalance")
    error_message = "Neither a scale-in nor rebalancing may terminate a node that the controller has not drained."
  }

  assert {
    condition     = length(aws_autoscaling_group.this.instance_refresh) == 0
    error_message = "The group must have no instance refresh, which would replace nodes under a running training."
  }

  assert {
    condition     = aws_autoscaling_group.this.wait_for_capacity_timeout == "0" && aws_autoscaling_group.this.ignore_failed_scaling_activities
    error_message = "An apply must neither wait for nodes nor fail when EC2 has no capacity: the controller handles both."
  }
}

run "nodes_require_imdsv2_and_encrypt_their_volumes" {
  command = plan

  assert {
    condition = (
      aws_launch_template.this.metadata_options[0].http_tokens == "required" &&
      aws_launch_template.this.metadata_options[0].http_put_response_hop_limit == 1 &&
      aws_launch_template.this.metadata_options[0].instance_metadata_tags == "enabled"
    )
    error_message = "Nodes must require IMDSv2 with a hop limit of 1, and show their tags in their metadata."
  }

  assert {
    condition     = aws_launch_template.this.block_device_mappings[0].ebs[0].encrypted == "true"
    error_message = "The root volume must be encrypted."
  }
}

run "nodes_their_volumes_and_interfaces_carry_the_tags" {
  command = plan

  assert {
    condition = toset(aws_launch_template.this.tag_specifications[*].resource_type) == toset(["instance", "volume", "network-interface"]) && alltrue([
      for specification in aws_launch_template.this.tag_specifications :
      specification.tags["centavo:cluster"] == "unit" && specification.tags["centavo:role"] == "worker" &&
      specification.tags["centavo:flavor"] == "c5.xlarge" && specification.tags["Project"] == "unit-test"
    ])
    error_message = "Nodes, volumes and network interfaces must carry cluster, role, flavor and the caller's own tags, for cost allocation."
  }

  assert {
    condition     = alltrue([for tag in aws_autoscaling_group.this.tag : tag.propagate_at_launch])
    error_message = "The group's tags must reach its nodes."
  }
}

run "a_flavor_with_capacity_0_keeps_its_group" {
  command = plan

  variables {
    capacity = 0
  }

  assert {
    condition     = aws_autoscaling_group.this.desired_capacity == 0 && aws_autoscaling_group.this.max_size == 4
    error_message = "A flavor without nodes must keep its group, so that it can grow."
  }
}

run "a_spot_group_buys_spot_by_price_and_capacity" {
  command = plan

  variables {
    market = "spot"
  }

  assert {
    condition     = length(aws_autoscaling_group.this.launch_template) == 0 && length(aws_autoscaling_group.this.mixed_instances_policy) == 1
    error_message = "A spot group must have a mixed instances policy and no launch template of its own."
  }

  assert {
    condition = (
      aws_autoscaling_group.this.mixed_instances_policy[0].instances_distribution[0].spot_allocation_strategy == "price-capacity-optimized" &&
      aws_autoscaling_group.this.mixed_instances_policy[0].instances_distribution[0].on_demand_percentage_above_base_capacity == 0
    )
    error_message = "All nodes must be spot, placed with price-capacity-optimized."
  }
}

run "a_spot_group_keeps_a_floor_of_nodes_on_demand" {
  command = plan

  variables {
    market         = "spot"
    on_demand_base = 2
  }

  assert {
    condition     = aws_autoscaling_group.this.mixed_instances_policy[0].instances_distribution[0].on_demand_base_capacity == 2
    error_message = "The first two nodes must be bought on demand."
  }
}

run "refuses_a_floor_where_all_nodes_are_on_demand" {
  command = plan

  variables {
    on_demand_base = 2
  }

  expect_failures = [aws_launch_template.this]
}

run "refuses_a_floor_that_is_no_number_of_nodes" {
  command = plan

  variables {
    market         = "spot"
    on_demand_base = 1.5
  }

  expect_failures = [var.on_demand_base]
}

run "a_flavor_that_ec2_takes_into_the_placement_group_uses_it" {
  command = plan

  assert {
    condition     = aws_autoscaling_group.this.placement_group == "unit"
    error_message = "c5 supports cluster placement groups, so its group must use the one given."
  }
}

run "a_burstable_flavor_does_not_use_the_placement_group" {
  command = plan

  variables {
    flavor      = "t3.large"
    cpu_credits = "standard"
  }

  override_data {
    target = data.aws_ec2_instance_type.this
    values = {
      default_vcpus                   = 2
      memory_size                     = 8192
      supported_architectures         = ["x86_64"]
      supported_placement_strategies  = ["partition", "spread"]
      burstable_performance_supported = true
    }
  }

  assert {
    condition     = aws_autoscaling_group.this.placement_group == null
    error_message = "A burstable flavor must have no placement group, because EC2 refuses it in one."
  }

  assert {
    condition     = aws_launch_template.this.credit_specification[0].cpu_credits == "standard"
    error_message = "cpu_credits must reach the launch template."
  }
}

run "refuses_a_flavor_that_is_no_instance_type" {
  command = plan

  variables {
    flavor = "c5 xlarge"
  }

  expect_failures = [var.flavor]
}

run "refuses_a_negative_capacity" {
  command = plan

  variables {
    capacity = -1
  }

  expect_failures = [var.capacity]
}

run "refuses_a_capacity_of_half_a_node" {
  command = plan

  variables {
    capacity = 1.5
  }

  expect_failures = [var.capacity]
}

run "refuses_a_capacity_over_max_nodes" {
  command = plan

  variables {
    capacity = 5
  }

  expect_failures = [var.capacity]
}

run "refuses_max_nodes_of_zero" {
  command = plan

  variables {
    capacity  = 0
    max_nodes = 0
  }

  expect_failures = [var.max_nodes]
}

run "refuses_an_unknown_market" {
  command = plan

  variables {
    market = "reserved"
  }

  expect_failures = [var.market]
}

run "refuses_an_unknown_kind_of_credits" {
  command = plan

  variables {
    cpu_credits = "infinite"
  }

  expect_failures = [var.cpu_credits]
}

run "refuses_credits_for_a_flavor_that_is_not_burstable" {
  command = plan

  variables {
    cpu_credits = "unlimited"
  }

  expect_failures = [aws_launch_template.this]
}

run "refuses_an_image_of_another_architecture" {
  command = plan

  variables {
    image = { id = "ami-0123456789abcdef0", root_device_name = "/dev/sda1", architecture = "arm64" }
  }

  expect_failures = [aws_launch_template.this]
}

run "refuses_a_volume_smaller_than_the_image" {
  command = plan

  variables {
    volume_gb = 4
  }

  expect_failures = [var.volume_gb]
}

run "refuses_an_empty_list_of_subnets" {
  command = plan

  variables {
    subnet_ids = []
  }

  expect_failures = [var.subnet_ids]
}
