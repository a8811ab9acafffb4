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

  mock_data "aws_ec2_instance_type_offerings" {
    defaults = { instance_types = ["t2.medium", "c5.large", "c5.xlarge", "t3.micro"] }
  }

  mock_data "aws_vpc" {
    defaults = { cidr_block = "172.31.0.0/16" }
  }

  mock_data "aws_subnet" {
    defaults = { vpc_id = "vpc-0a1b2c3d", availability_zone = "us-east-1a" }
  }

  mock_data "aws_security_group" {
    defaults = { vpc_id = "vpc-0a1b2c3d" }
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

  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:us-east-1:123456789012:function:unit-reaper" }
  }

  mock_resource "aws_cloudwatch_event_rule" {
    defaults = { arn = "arn:aws:events:us-east-1:123456789012:rule/unit-reaper" }
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

run "each_flavor_has_its_own_group" {
  command = apply

  assert {
    condition     = toset(keys(output.flavors)) == toset(["t2.medium", "c5.large", "c5.xlarge"])
    error_message = "Each flavor must have a group, even at capacity 0."
  }

  assert {
    condition     = output.flavors["c5.large"].autoscaling_group == "unit-c5.large" && output.flavors["c5.xlarge"].autoscaling_group == "unit-c5.xlarge"
    error_message = "Groups must be named CLUSTER-FLAVOR."
  }

  assert {
    condition = output.flavors["c5.large"] == {
      autoscaling_group  = "unit-c5.large"
      launch_template_id = "lt-0123456789abcdef0"
      market             = "spot"
      on_demand_base     = 0
      max_nodes          = 8
      vcpus              = 4
      memory_bytes       = 8589934592
      volume_gb          = 20
      cpu_credits        = tostring(null)
    }
    error_message = "The output flavors must hold group, launch template, market, max_nodes, vCPUs and memory of each flavor."
  }
}

run "the_other_outputs_that_the_controller_reads_exist" {
  command = apply

  assert {
    condition     = output.cluster == "unit" && output.region == "us-east-1"
    error_message = "The outputs cluster and region must hold the name of the cluster and its region."
  }

  assert {
    condition     = toset(keys(output.head)) == toset(["instance_id", "private_ip", "public_ip", "instance_type", "volume_gb"]) && output.head.instance_type == "t3.micro"
    error_message = "The output head must hold the head's instance ID, addresses and instance type."
  }

  assert {
    condition = output.network == {
      nat_gateways     = 1
      nat_gateway_ids  = module.network[0].nat_gateway_ids
      public_addresses = 1
      worker_zones     = tolist(["us-east-1a", "us-east-1b"])
    }
    error_message = "The output network must count and name the NAT gateways, count the public addresses, and name the zones of workers."
  }

  assert {
    condition     = output.reaper == "unit-reaper"
    error_message = "The output reaper must name the Lambda function."
  }

  assert {
    condition     = output.head.public_ip == null
    error_message = "Without ssh_from the head must have no public address."
  }
}

run "a_flavor_that_the_capacity_leaves_out_keeps_its_group" {
  command = plan

  variables {
    capacity = { "t2.medium" = 2 }
  }

  assert {
    condition     = length(output.flavors) == 3
    error_message = "A flavor must keep its group when capacity does not name it."
  }
}

run "with_an_empty_capacity_all_groups_stay" {
  command = plan

  variables {
    capacity = {}
  }

  assert {
    condition     = length(output.flavors) == 3
    error_message = "All flavors must keep their groups when capacity is empty."
  }
}

run "key_logs_and_quotas_can_be_switched_off" {
  command = plan

  variables {
    customer_key      = false
    flow_logs         = false
    reaper            = false
    check_quotas      = false
    nat_gateways      = 0
    head              = { session_manager = false }
    keep_deleted_days = null
    login_user        = ""
    fact_path         = "~/facts.d"
  }

  assert {
    condition     = length(module.key) == 0 && length(module.logs) == 0 && length(module.quotas) == 0 && length(module.reaper) == 0
    error_message = "The modules key, logs, quotas and reaper must not be used when they are switched off."
  }
}

run "the_placement_group_has_the_strategy_cluster" {
  command = plan

  variables {
    training_zone   = "us-east-1b"
    placement_group = true
  }

  assert {
    condition     = aws_placement_group.this[0].strategy == "cluster"
    error_message = "The placement group must have the strategy cluster, which places nodes close together."
  }
}

run "quotas_count_the_workers_and_the_head" {
  command = plan

  assert {
    condition     = module.quotas[0].vcpus == { "standard on-demand" = 8, "standard spot" = 12 }
    error_message = "On-demand must count one t2.medium and the head, and spot three c5.large, with 4 vCPUs each."
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

run "refuses_a_capacity_over_max_nodes" {
  command = plan

  variables {
    capacity = { "c5.large" = 100000 }
  }

  expect_failures = [var.capacity]
}

run "refuses_an_empty_set_of_flavors" {
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

run "refuses_a_cluster_name_that_is_no_valid_bucket_name" {
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

run "refuses_a_placement_group_without_a_training_zone" {
  command = plan

  variables {
    placement_group = true
  }

  expect_failures = [var.placement_group]
}

run "refuses_an_image_name_with_a_wildcard" {
  command = plan

  variables {
    image = { owner = "099720109477", name = "ubuntu/images/hvm-ssd/ubuntu-jammy-*" }
  }

  expect_failures = [var.image]
}

run "refuses_a_login_user_that_is_no_user_name" {
  command = plan

  variables {
    login_user = "root; reboot"
  }

  expect_failures = [var.login_user]
}

run "refuses_a_fact_path_that_a_shell_would_expand" {
  command = plan

  variables {
    fact_path = "/etc/ansible/$(reboot)"
  }

  expect_failures = [var.fact_path]
}

run "refuses_a_package_name_that_is_an_option_of_apt" {
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

run "refuses_tags_that_centavo_sets_itself" {
  command = plan

  variables {
    tags = { "centavo:role" = "head" }
  }

  expect_failures = [var.tags]
}

run "a_head_without_a_public_address_installs_the_agent_of_systems_manager_and_workers_do_not" {
  command = plan

  assert {
    condition     = strcontains(local.packages["head"], "agent_region='us-east-1'") && strcontains(local.packages["worker"], "agent_region=''")
    error_message = "The head's boot script, and no worker's, must install the agent of Systems Manager."
  }
}

run "a_head_with_a_public_address_installs_no_agent" {
  command = plan

  variables {
    head = { ssh_from = ["203.0.113.7/32"] }
  }

  assert {
    condition     = strcontains(local.packages["head"], "agent_region=''")
    error_message = "A head with a public address must not install the agent of Systems Manager."
  }
}

run "refuses_a_head_that_nothing_reaches" {
  command = plan

  variables {
    nat_gateways = 0
  }

  expect_failures = [var.head]
}

run "refuses_a_zone_that_does_not_offer_a_flavor" {
  command = plan

  variables {
    training_zone = "us-east-1b"
    flavors       = { "t2.medium" = { max_nodes = 2 }, "m7i.large" = { max_nodes = 2 } }
    capacity      = {}
  }

  expect_failures = [data.aws_ec2_instance_type_offerings.zone]
}

run "an_existing_network_groups_and_profiles_are_taken" {
  command = plan

  variables {
    training_zone = "us-east-1a"
    existing_network = {
      vpc_id             = "vpc-0a1b2c3d"
      private_subnet_ids = { "us-east-1a" = "subnet-0a" }
    }
    existing_security_groups   = { head = "sg-0a", worker = "sg-0b" }
    existing_instance_profiles = { head = "our-head", worker = "our-worker" }
    availability_zones         = ["us-east-1a"]
  }

  assert {
    condition     = length(module.network) == 0 && length(module.firewall) == 0 && length(module.logs) == 0 && length(module.reaper) == 0
    error_message = "With a network of your own Terraform must make no VPC, no security group and no flow log."
  }

  assert {
    condition     = output.network.nat_gateways == 0 && length(output.network.nat_gateway_ids) == 0
    error_message = "The NAT gateways of a network of your own serve others, too, and must not count."
  }

  assert {
    condition     = local.network.private_subnet_ids["us-east-1a"] == "subnet-0a" && local.security_groups == { head = "sg-0a", worker = "sg-0b" }
    error_message = "Nodes must start in the existing subnets and security groups."
  }

  assert {
    condition     = module.access.head_instance_profile == "our-head"
    error_message = "The head must have the existing instance profile."
  }
}

run "refuses_a_subnet_that_lies_in_another_zone" {
  command = plan

  variables {
    existing_network = {
      vpc_id             = "vpc-0a1b2c3d"
      private_subnet_ids = { "us-east-1a" = "subnet-0a", "us-east-1b" = "subnet-0b" }
    }
    availability_zones = ["us-east-1a"]
  }

  expect_failures = [data.aws_subnet.existing]
}

run "refuses_a_security_group_of_another_network" {
  command = plan

  variables {
    existing_network = {
      vpc_id             = "vpc-99999999"
      private_subnet_ids = { "us-east-1a" = "subnet-0a" }
    }
    existing_security_groups = { head = "sg-0a", worker = "sg-0b" }
    availability_zones       = ["us-east-1a"]
  }

  expect_failures = [data.aws_security_group.existing, data.aws_subnet.existing]
}

run "refuses_a_text_that_is_no_id_of_a_network" {
  command = plan

  variables {
    existing_network = { vpc_id = "our network", private_subnet_ids = { "us-east-1a" = "subnet-0a", "us-east-1b" = "subnet-0b" } }
  }

  expect_failures = [var.existing_network]
}

run "refuses_an_existing_network_without_a_subnet_for_a_zone" {
  command = plan

  variables {
    existing_network = { vpc_id = "vpc-0a1b2c3d", private_subnet_ids = { "us-east-1a" = "subnet-0a" } }
  }

  expect_failures = [var.existing_network]
}

run "refuses_a_public_head_in_an_existing_network_without_a_public_subnet" {
  command = plan

  variables {
    head               = { ssh_from = ["203.0.113.7/32"] }
    existing_network   = { vpc_id = "vpc-0a1b2c3d", private_subnet_ids = { "us-east-1a" = "subnet-0a" } }
    availability_zones = ["us-east-1a"]
  }

  expect_failures = [var.head]
}

run "refuses_security_groups_without_their_network" {
  command = plan

  variables {
    existing_security_groups = { head = "sg-0a", worker = "sg-0b" }
  }

  expect_failures = [var.existing_security_groups]
}

run "refuses_an_arn_where_the_name_of_an_instance_profile_belongs" {
  command = plan

  variables {
    existing_instance_profiles = { head = "arn:aws:iam::123456789012:instance-profile/head", worker = "worker" }
  }

  expect_failures = [var.existing_instance_profiles]
}

run "the_logs_of_runs_are_kept_for_30_days" {
  command = plan

  assert {
    condition     = aws_cloudwatch_log_group.runs.name == "/centavo/unit" && aws_cloudwatch_log_group.runs.retention_in_days == 30
    error_message = "The log group must be named after the cluster and keep logs for 30 days."
  }

  assert {
    condition     = output.log_group == "/centavo/unit"
    error_message = "The output log_group must be the name of the log group."
  }
}

run "refuses_a_retention_that_cloudwatch_does_not_offer" {
  command = plan

  variables {
    log_retention_days = 42
  }

  expect_failures = [var.log_retention_days]
}

run "an_address_makes_alarms" {
  command = plan

  variables {
    alarm_email = "team@example.com"
  }

  assert {
    condition     = length(module.alarms) == 1
    error_message = "alarm_email must make the alarms."
  }
}

run "without_an_address_there_are_no_alarms" {
  command = plan

  assert {
    condition     = length(module.alarms) == 0
    error_message = "Without alarm_email there must be no alarms."
  }
}
