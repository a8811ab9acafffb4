locals {
  # EC2 limits the vCPUs of running instances. Each class of instance families has one quota for each market.
  # Source of codes and families: docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
  codes = {
    standard = { on-demand = "L-1216C47A", spot = "L-34B43A08" }
    gpu-g    = { on-demand = "L-DB2E81BA", spot = "L-3819A6DF" }
    gpu-p    = { on-demand = "L-417A185B", spot = "L-7212CCBC" }
  }

  class_of_family = merge(
    { for family in ["a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"] : family => "standard" },
    { g = "gpu-g", gr = "gpu-g", vt = "gpu-g", p = "gpu-p" },
  )

  # Families of other classes, such as hpc, inf, trn, u and x, are not checked.
  wanted = [for group in var.groups : {
    key   = "${local.class_of_family[regex("^[a-z]+", group.flavor)]} ${group.market}"
    vcpus = group.nodes * data.aws_ec2_instance_type.this[group.flavor].default_vcpus
  } if contains(keys(local.class_of_family), regex("^[a-z]+", group.flavor))]

  wanted_vcpus = { for key in distinct(local.wanted[*].key) : key => sum([for want in local.wanted : want.vcpus if want.key == key]) }
}

data "aws_ec2_instance_type" "this" {
  for_each = toset(var.groups[*].flavor)

  instance_type = each.key
}

data "aws_servicequotas_service_quota" "vcpus" {
  for_each = local.wanted_vcpus

  service_code = "ec2"
  quota_code   = local.codes[split(" ", each.key)[0]][split(" ", each.key)[1]]

  lifecycle {
    postcondition {
      condition     = self.value >= each.value
      error_message = "The capacity needs ${each.value} vCPUs (${each.key}), but the quota of this account in this region is ${self.value}. Lower the capacity in the capacity file, or ask AWS for a larger quota: aws service-quotas request-service-quota-increase --service-code ec2 --quota-code ${self.quota_code} --desired-value ${each.value}"
    }
  }
}
