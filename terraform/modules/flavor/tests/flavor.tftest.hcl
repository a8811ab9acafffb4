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

run "an_on_demand_group_holds_the_capacity_asked_for" {
  command = plan

  assert {
    condition     = aws_autoscaling_group.this.name == "unit-c5.xlarge"
    error_message = "The group must be called CLUSTER-FLAVOR: the controller finds it by that name."
  }

  assert {
    condition     = aws_autoscaling_group.this.desired_capacity == 2 && aws_autoscaling_group.this.min_size == 0 && aws_autoscaling_group.this.max_size == 4
    error_message = "Desired capacity comes from capacity, the least is 0, the most is max_nodes."
  }

  assert {
    condition     = length(aws_autoscaling_group.this.launch_template) == 1 && length(aws_autoscaling_group.this.mixed_instances_policy) == 0
    error_message = "On demand, the group uses its launch template as it is."
  }

  assert {
    condition     = output.market == "on-demand" && output.vcpus == 4 && output.memory_bytes == 8589934592 && output.max_nodes == 4
    error_message = "The outputs must tell the controller market, vCPUs, memory in bytes and most nodes."
  }
}

run "the_controller_alone_decides_which_nodes_end_and_when" {
  command = plan

  assert {
    condition     = aws_autoscaling_group.this.protect_from_scale_in && contains(aws_autoscaling_group.this.suspended_processes, "AZRebalance")
    error_message = "Neither a scale-in nor rebalancing may end a node that the controller has not drained."
  }

  assert {
    condition     = length(aws_autoscaling_group.this.instance_refresh) == 0
    error_message = "Instance refresh would replace nodes under a running training."
  }

  assert {
    condition     = aws_autoscaling_group.this.wait_for_capacity_timeout == "0" && aws_autoscaling_group.this.ignore_failed_scaling_activities
    error_message = "An apply must neither wait for nodes nor fail for a lack of capacity: the controller sees to both."
  }
}

run "nodes_are_locked_down" {
  command = plan

  assert {
    condition = (
      aws_launch_template.this.metadata_options[0].http_tokens == "required" &&
      aws_launch_template.this.metadata_options[0].http_put_response_hop_limit == 1 &&
      aws_launch_template.this.metadata_options[0].instance_metadata_tags == "enabled"
    )
    error_message = "Nodes must answer IMDSv2 alone, to themselves alone, and show their tags."
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
    error_message = "What a node costs must be found by cluster, role, flavor and the caller's own tags."
  }

  assert {
    condition     = alltrue([for tag in aws_autoscaling_group.this.tag : tag.propagate_at_launch])
    error_message = "The group's tags must reach its nodes."
  }
}

run "a_zero_capacity_flavor_keeps_its_group" {
  command = plan

  variables {
    capacity = 0
  }

  assert {
    condition     = aws_autoscaling_group.this.desired_capacity == 0 && aws_autoscaling_group.this.max_size == 4
    error_message = "A flavor without nodes keeps its group, ready to grow."
  }
}

run "a_spot_flavor_is_bought_where_it_is_cheap_and_stays" {
  command = plan

  variables {
    market = "spot"
  }

  assert {
    condition     = length(aws_autoscaling_group.this.launch_template) == 0 && length(aws_autoscaling_group.this.mixed_instances_policy) == 1
    error_message = "Spot needs a mixed instances policy."
  }

  assert {
    condition = (
      aws_autoscaling_group.this.mixed_instances_policy[0].instances_distribution[0].spot_allocation_strategy == "price-capacity-optimized" &&
      aws_autoscaling_group.this.mixed_instances_policy[0].instances_distribution[0].on_demand_percentage_above_base_capacity == 0
    )
    error_message = "All nodes must be spot, placed with price-capacity-optimized."
  }
}

run "a_flavor_that_can_be_placed_together_is" {
  command = plan

  assert {
    condition     = aws_autoscaling_group.this.placement_group == "unit"
    error_message = "c5 supports cluster placement groups."
  }
}

run "a_burstable_flavor_goes_without_the_placement_group" {
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
    error_message = "EC2 refuses burstable instances in a cluster placement group."
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

run "refuses_unknown_credits" {
  command = plan

  variables {
    cpu_credits = "infinite"
  }

  expect_failures = [var.cpu_credits]
}

run "refuses_credits_for_a_flavor_that_earns_none" {
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

run "refuses_no_subnet" {
  command = plan

  variables {
    subnet_ids = []
  }

  expect_failures = [var.subnet_ids]
}
