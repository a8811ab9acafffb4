mock_provider "aws" {}

variables {
  name     = "unit"
  vpc_id   = "vpc-0123456789abcdef0"
  vpc_cidr = "10.20.0.0/16"
}

run "nobody_outside_may_open_ssh_by_default" {
  command = plan

  assert {
    condition     = length(aws_vpc_security_group_ingress_rule.head_ssh) == 0
    error_message = "Without ssh_from no range may reach the head."
  }
}

run "workers_take_ssh_from_the_head_alone" {
  command = apply

  assert {
    condition = (
      aws_vpc_security_group_ingress_rule.worker_ssh.referenced_security_group_id == aws_security_group.head.id &&
      aws_vpc_security_group_ingress_rule.worker_ssh.from_port == 22 && aws_vpc_security_group_ingress_rule.worker_ssh.to_port == 22
    )
    error_message = "The workers' SSH port must be open to the head's security group alone."
  }

  assert {
    condition     = aws_vpc_security_group_ingress_rule.worker_from_worker.from_port == 1024
    error_message = "Workers reach each other on unprivileged ports only, not on SSH."
  }
}

run "the_head_takes_ssh_from_the_named_ranges" {
  command = plan

  variables {
    ssh_from = ["203.0.113.7/32", "198.51.100.0/24"]
    ssh_port = 2222
  }

  assert {
    condition = (
      toset([for rule in values(aws_vpc_security_group_ingress_rule.head_ssh) : rule.cidr_ipv4]) == toset(["203.0.113.7/32", "198.51.100.0/24"]) &&
      alltrue([for rule in values(aws_vpc_security_group_ingress_rule.head_ssh) : rule.from_port == 2222 && rule.to_port == 2222])
    )
    error_message = "Each range of ssh_from gets a rule for the SSH port, and nothing else does."
  }
}

run "nodes_go_out_for_packages_and_apis_alone" {
  command = plan

  assert {
    condition = alltrue([
      for rule in concat(values(aws_vpc_security_group_egress_rule.head_outside), values(aws_vpc_security_group_egress_rule.worker_outside)) :
      contains([80, 443], rule.from_port) && rule.from_port == rule.to_port
    ])
    error_message = "To the internet only HTTP and HTTPS may go."
  }

  assert {
    condition     = alltrue([for rule in values(aws_vpc_security_group_egress_rule.inside) : rule.cidr_ipv4 == "10.20.0.0/16"])
    error_message = "All other ports stay inside the VPC."
  }
}

run "refuses_ssh_from_the_whole_world" {
  command = plan

  variables {
    ssh_from = ["0.0.0.0/0"]
  }

  expect_failures = [var.ssh_from]
}

run "refuses_a_range_that_is_none" {
  command = plan

  variables {
    ssh_from = ["my house"]
  }

  expect_failures = [var.ssh_from]
}

run "refuses_a_port_that_is_none" {
  command = plan

  variables {
    ssh_port = 70000
  }

  expect_failures = [var.ssh_port]
}

run "refuses_a_vpc_range_that_is_none" {
  command = plan

  variables {
    vpc_cidr = "10.20.0.0"
  }

  expect_failures = [var.vpc_cidr]
}
