mock_provider "aws" {
  mock_data "aws_ec2_instance_type" {
    defaults = {
      default_vcpus                   = 4
      memory_size                     = 8192
      ebs_optimized_support           = "default"
      supported_architectures         = ["x86_64"]
      supported_placement_strategies  = ["cluster", "partition", "spread"]
      burstable_performance_supported = false
    }
  }

  mock_data "aws_ami" {
    defaults = {
      id               = "ami-0123456789abcdef0"
      architecture     = "x86_64"
      root_device_name = "/dev/sda1"
    }
  }

  mock_data "aws_region" {
    defaults = { name = "us-east-1" }
  }

  mock_data "aws_servicequotas_service_quota" {
    defaults = { value = 1000 }
  }

  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }

  mock_resource "aws_launch_template" {
    defaults = { id = "lt-0123456789abcdef0" }
  }

  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/unit" }
  }

  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:/centavo/unit/flow" }
  }

  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000" }
  }
}

variables {
  cluster = "unit"
  flavors = {
    "t2.medium" = { max_nodes = 2 }
    "c5.large"  = { max_nodes = 8, market = "spot" }
    "c5.xlarge" = { max_nodes = 4 }
  }
  capacity           = { "t2.medium" = 1, "c5.large" = 3, "c5.xlarge" = 0 }
  ssh_public_key     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO0tc2DSKmsqoVeJXjnQ1r6vTqYvLWUSBLJQCJGQGQ9h unit"
  availability_zones = ["us-east-1a", "us-east-1b"]
  image              = { owner = "099720109477", name = "ubuntu/images/hvm-ssd/unit" }
}

run "each_flavor_has_a_group_of_its_own" {
  command = apply

  assert {
    condition     = toset(keys(output.flavors)) == toset(["t2.medium", "c5.large", "c5.xlarge"])
    error_message = "There must be one group for each flavor, those at zero capacity too."
  }

  assert {
    condition     = output.flavors["c5.large"].autoscaling_group == "unit-c5.large" && output.flavors["c5.xlarge"].autoscaling_group == "unit-c5.xlarge"
    error_message = "Groups are called CLUSTER-FLAVOR."
  }

  assert {
    condition = output.flavors["c5.large"] == {
      autoscaling_group  = "unit-c5.large"
      launch_template_id = "lt-0123456789abcdef0"
      market             = "spot"
      max_nodes          = 8
      vcpus              = 4
      memory_bytes       = 8589934592
    }
    error_message = "The controller reads group, launch template, market, most nodes, vCPUs and memory of each flavor."
  }
}

run "what_the_controller_reads_of_the_rest_is_there" {
  command = apply

  assert {
    condition     = output.cluster == "unit" && output.region == "us-east-1"
    error_message = "Cluster and region must be outputs."
  }

  assert {
    condition     = toset(keys(output.head)) == toset(["instance_id", "private_ip", "public_ip", "instance_type"]) && output.head.instance_type == "t3.micro"
    error_message = "The head must be an output with its instance, addresses and type."
  }

  assert {
    condition     = output.head.public_ip == null
    error_message = "Without ssh_from the head must have no public address."
  }
}

run "a_flavor_that_the_capacity_file_leaves_out_has_no_nodes" {
  command = plan

  variables {
    capacity = { "t2.medium" = 2 }
  }

  assert {
    condition     = length(output.flavors) == 3
    error_message = "Flavors keep their groups whether or not the capacity file names them."
  }
}

run "an_empty_capacity_file_is_a_fleet_of_none" {
  command = plan

  variables {
    capacity = {}
  }

  assert {
    condition     = length(output.flavors) == 3
    error_message = "With no nodes at all the groups stay."
  }
}

run "all_that_can_be_switched_off_is_off" {
  command = plan

  variables {
    customer_key      = false
    flow_logs         = false
    check_quotas      = false
    nat_gateways      = 0
    keep_deleted_days = null
    login_user        = ""
    fact_path         = "~/facts.d"
  }

  assert {
    condition     = length(module.key) == 0 && length(module.logs) == 0 && length(module.quotas) == 0
    error_message = "Key, logs and quotas must be absent when they are switched off."
  }
}

run "a_placement_group_lies_in_the_training_zone" {
  command = plan

  variables {
    training_zone   = "us-east-1b"
    placement_group = true
  }

  assert {
    condition     = aws_placement_group.this[0].strategy == "cluster"
    error_message = "The placement group must be of the strategy that keeps nodes close."
  }
}

run "quotas_count_the_capacity_and_the_head" {
  command = plan

  assert {
    condition     = module.quotas[0].vcpus == { "standard on-demand" = 8, "standard spot" = 12 }
    error_message = "One t2.medium and the head on demand, three c5.large on spot, 4 vCPUs each."
  }
}

run "refuses_an_unknown_flavor" {
  command = plan

  variables {
    capacity = { "c5.24xlarge" = 1 }
  }

  expect_failures = [var.capacity]
}

run "refuses_a_negative_capacity" {
  command = plan

  variables {
    capacity = { "c5.large" = -1 }
  }

  expect_failures = [var.capacity]
}

run "refuses_a_capacity_of_half_a_node" {
  command = plan

  variables {
    capacity = { "c5.large" = 0.5 }
  }

  expect_failures = [var.capacity]
}

run "refuses_an_absurd_capacity" {
  command = plan

  variables {
    capacity = { "c5.large" = 100000 }
  }

  expect_failures = [var.capacity]
}

run "refuses_no_flavor" {
  command = plan

  variables {
    flavors  = {}
    capacity = {}
  }

  expect_failures = [var.flavors]
}

run "refuses_a_flavor_that_is_no_instance_type" {
  command = plan

  variables {
    flavors  = { "big one" = { max_nodes = 1 } }
    capacity = {}
  }

  expect_failures = [var.flavors]
}

run "refuses_a_cluster_name_that_no_bucket_may_have" {
  command = plan

  variables {
    cluster = "My_Cluster"
  }

  expect_failures = [var.cluster]
}

run "refuses_a_training_zone_without_subnets" {
  command = plan

  variables {
    training_zone = "us-east-1f"
  }

  expect_failures = [var.training_zone]
}

run "refuses_a_placement_group_over_several_zones" {
  command = plan

  variables {
    placement_group = true
  }

  expect_failures = [var.placement_group]
}

run "refuses_an_image_that_changes_by_itself" {
  command = plan

  variables {
    image = { owner = "099720109477", name = "ubuntu/images/hvm-ssd/ubuntu-jammy-*" }
  }

  expect_failures = [var.image]
}

run "refuses_a_login_user_that_is_none" {
  command = plan

  variables {
    login_user = "root; reboot"
  }

  expect_failures = [var.login_user]
}

run "refuses_a_fact_path_that_a_shell_would_misread" {
  command = plan

  variables {
    fact_path = "/etc/ansible/$(reboot)"
  }

  expect_failures = [var.fact_path]
}

run "refuses_a_package_that_is_an_option" {
  command = plan

  variables {
    system_packages = ["--allow-unauthenticated"]
  }

  expect_failures = [var.system_packages]
}

run "refuses_tags_that_instance_metadata_cannot_show" {
  command = plan

  variables {
    tags = { "cost center" = "training" }
  }

  expect_failures = [var.tags]
}

run "refuses_tags_that_are_centavo_s_own" {
  command = plan

  variables {
    tags = { "centavo:role" = "head" }
  }

  expect_failures = [var.tags]
}
