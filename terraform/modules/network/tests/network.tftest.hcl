mock_provider "aws" {}

variables {
  name               = "unit"
  region             = "us-east-1"
  cidr               = "10.20.0.0/16"
  availability_zones = ["us-east-1a", "us-east-1b", "us-east-1c"]
  tags               = { Project = "unit-test" }
}

run "each_zone_has_a_private_and_a_public_subnet" {
  command = plan

  assert {
    condition = (
      aws_subnet.private["us-east-1a"].cidr_block == "10.20.0.0/20" && aws_subnet.private["us-east-1c"].cidr_block == "10.20.32.0/20" &&
      aws_subnet.public["us-east-1a"].cidr_block == "10.20.128.0/20" && aws_subnet.public["us-east-1c"].cidr_block == "10.20.160.0/20"
    )
    error_message = "Each subnet must have a sixteenth of the VPC, and the public subnets must begin at its middle."
  }

  assert {
    condition     = length(output.private_subnet_ids) == 3 && length(output.public_subnet_ids) == 3
    error_message = "The outputs must hold a private and a public subnet for each zone."
  }
}

run "no_subnet_gives_instances_public_addresses" {
  command = plan

  assert {
    condition     = alltrue([for subnet in values(aws_subnet.public) : subnet.map_public_ip_on_launch == false])
    error_message = "No subnet may give public addresses by default: only the head asks for one."
  }
}

run "the_default_is_one_nat_gateway_for_all_zones" {
  command = apply

  assert {
    condition     = keys(aws_nat_gateway.this) == ["us-east-1a"]
    error_message = "By default there must be one NAT gateway, in the first zone."
  }

  assert {
    condition     = alltrue([for zone in var.availability_zones : aws_route.private[zone].nat_gateway_id == aws_nat_gateway.this["us-east-1a"].id])
    error_message = "Every private subnet must reach the internet through the one NAT gateway."
  }

  assert {
    condition     = length(aws_vpc_endpoint.s3.route_table_ids) == 4 && aws_vpc_endpoint.s3.vpc_endpoint_type == "Gateway"
    error_message = "All route tables must reach S3 through the gateway endpoint, not through NAT."
  }
}

run "with_a_nat_gateway_per_zone_each_zone_uses_its_own" {
  command = apply

  variables {
    nat_gateways = 3
  }

  assert {
    condition     = alltrue([for zone in var.availability_zones : aws_route.private[zone].nat_gateway_id == aws_nat_gateway.this[zone].id])
    error_message = "Each zone must reach the internet through its own NAT gateway."
  }

  assert {
    condition     = output.nat_gateway_ids == [for zone in var.availability_zones : aws_nat_gateway.this[zone].id]
    error_message = "The output nat_gateway_ids must name all NAT gateways."
  }
}

run "without_nat_gateways_private_subnets_do_not_reach_the_internet" {
  command = plan

  variables {
    nat_gateways = 0
  }

  assert {
    condition     = length(aws_nat_gateway.this) == 0 && length(aws_eip.nat) == 0 && length(aws_route.private) == 0
    error_message = "nat_gateways = 0 must make no gateway, no address and no route."
  }
}

run "the_default_security_group_allows_no_traffic" {
  command = plan

  assert {
    condition     = length(aws_default_security_group.this.ingress) == 0 && length(aws_default_security_group.this.egress) == 0
    error_message = "The VPC's default security group must have no rules."
  }
}

run "a_vpc_may_lie_in_the_loopback_range" {
  command = plan

  variables {
    cidr = "127.20.0.0/16"
  }

  assert {
    condition     = aws_vpc.this.cidr_block == "127.20.0.0/16"
    error_message = "The VPC must take a range of loopback, as the local environment gives one."
  }
}

run "refuses_a_vpc_that_is_too_small" {
  command = plan

  variables {
    cidr = "10.20.0.0/24"
  }

  expect_failures = [var.cidr]
}

run "refuses_a_text_that_is_no_address_range" {
  command = plan

  variables {
    cidr = "ten.twenty"
  }

  expect_failures = [var.cidr]
}

run "refuses_an_empty_list_of_zones" {
  command = plan

  variables {
    availability_zones = []
    nat_gateways       = 0
  }

  expect_failures = [var.availability_zones]
}

run "refuses_a_zone_named_twice" {
  command = plan

  variables {
    availability_zones = ["us-east-1a", "us-east-1a"]
  }

  expect_failures = [var.availability_zones]
}

run "refuses_a_zone_of_another_region" {
  command = plan

  variables {
    availability_zones = ["eu-west-1a"]
  }

  expect_failures = [var.availability_zones]
}

run "refuses_more_nat_gateways_than_zones" {
  command = plan

  variables {
    nat_gateways = 4
  }

  expect_failures = [var.nat_gateways]
}
