mock_provider "aws" {}

variables {
  name     = "unit"
  vpc_id   = "vpc-0123456789abcdef0"
  vpc_cidr = "10.20.0.0/16"
}

run "by_default_no_address_may_open_ssh_to_the_head" {
  command = plan

  assert {
    condition     = length(aws_vpc_security_group_ingress_rule.head_ssh) == 0
    error_message = "Without ssh_from no rule may allow SSH to the head."
  }
}

run "workers_accept_ssh_from_the_head_only" {
  command = apply

  assert {
    condition = (
      aws_vpc_security_group_ingress_rule.worker_ssh.referenced_security_group_id == aws_security_group.head.id &&
      aws_vpc_security_group_ingress_rule.worker_ssh.from_port == 22 && aws_vpc_security_group_ingress_rule.worker_ssh.to_port == 22
    )
    error_message = "The workers' SSH port must be open to the head's security group only."
  }

  assert {
    condition     = aws_vpc_security_group_ingress_rule.worker_from_worker.from_port == 1024
    error_message = "Workers must reach each other on unprivileged ports only, not on the SSH port."
  }
}

run "workers_reach_the_heads_ssh_port_to_see_whether_it_lives" {
  command = apply

  assert {
    condition = (
      length(aws_vpc_security_group_ingress_rule.head_ssh_from_worker) == 1 &&
      aws_vpc_security_group_ingress_rule.head_ssh_from_worker[0].referenced_security_group_id == aws_security_group.worker.id &&
      aws_vpc_security_group_ingress_rule.head_ssh_from_worker[0].from_port == 22
    )
    error_message = "Without this rule the workers take a living head for dead, and end themselves an hour after their controller."
  }
}

run "the_head_accepts_ssh_from_each_range_of_ssh_from" {
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
    error_message = "Each range of ssh_from must get a rule for the SSH port, and no other range may get one."
  }
}

run "nodes_reach_the_internet_by_http_and_https_only" {
  command = plan

  assert {
    condition = alltrue([
      for rule in concat(values(aws_vpc_security_group_egress_rule.head_outside), values(aws_vpc_security_group_egress_rule.worker_outside)) :
      contains([80, 443], rule.from_port) && rule.from_port == rule.to_port
    ])
    error_message = "Rules for the internet must open the ports of HTTP and HTTPS only."
  }

  assert {
    condition     = alltrue([for rule in values(aws_vpc_security_group_egress_rule.inside) : rule.cidr_ipv4 == "10.20.0.0/16"])
    error_message = "Rules for all other ports must stay inside the VPC."
  }
}

run "refuses_ssh_from_the_whole_internet" {
  command = plan

  variables {
    ssh_from = ["0.0.0.0/0"]
  }

  expect_failures = [var.ssh_from]
}

run "refuses_a_text_that_is_no_address_range" {
  command = plan

  variables {
    ssh_from = ["my house"]
  }

  expect_failures = [var.ssh_from]
}

run "refuses_a_number_that_is_no_port" {
  command = plan

  variables {
    ssh_port = 70000
  }

  expect_failures = [var.ssh_port]
}

run "refuses_a_vpc_range_without_a_prefix_length" {
  command = plan

  variables {
    vpc_cidr = "10.20.0.0"
  }

  expect_failures = [var.vpc_cidr]
}
