mock_provider "aws" {
  mock_data "aws_ec2_instance_type" {
    defaults = { default_vcpus = 4 }
  }

  mock_data "aws_servicequotas_service_quota" {
    defaults = { value = 32 }
  }
}

variables {
  groups = [
    { flavor = "c5.xlarge", market = "on-demand", nodes = 6 },
    { flavor = "t3.xlarge", market = "on-demand", nodes = 2 },
    { flavor = "m5.xlarge", market = "spot", nodes = 3 },
  ]
}

run "vcpus_are_summed_by_class_and_market" {
  command = plan

  assert {
    condition     = output.vcpus == { "standard on-demand" = 32, "standard spot" = 12 }
    error_message = "c5 and t3 must share the standard on-demand quota, and spot must have its own."
  }

  assert {
    condition = (
      data.aws_servicequotas_service_quota.vcpus["standard on-demand"].quota_code == "L-1216C47A" &&
      data.aws_servicequotas_service_quota.vcpus["standard spot"].quota_code == "L-34B43A08"
    )
    error_message = "Each class and market must use its own quota code."
  }
}

run "families_without_a_known_quota_are_not_checked" {
  command = plan

  variables {
    groups = [{ flavor = "hpc7a.96xlarge", market = "on-demand", nodes = 100 }]
  }

  assert {
    condition     = length(output.vcpus) == 0
    error_message = "The vCPUs of a family without a known quota must not count towards another quota."
  }
}

run "refuses_a_capacity_over_the_quota" {
  command = plan

  variables {
    groups = [{ flavor = "c5.xlarge", market = "on-demand", nodes = 9 }]
  }

  expect_failures = [data.aws_servicequotas_service_quota.vcpus]
}

run "refuses_an_unknown_market" {
  command = plan

  variables {
    groups = [{ flavor = "c5.xlarge", market = "gift", nodes = 1 }]
  }

  expect_failures = [var.groups]
}

run "refuses_a_negative_number_of_nodes" {
  command = plan

  variables {
    groups = [{ flavor = "c5.xlarge", market = "spot", nodes = -1 }]
  }

  expect_failures = [var.groups]
}
