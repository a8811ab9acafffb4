locals {
  # The kernel picks the ports of Horovod's launcher, of its notification services and of gloo, so all unprivileged ports are open
  # between the nodes.
  unprivileged = { from = 1024, to = 65535 }

  # Package indexes, the AWS APIs and Systems Manager use HTTPS. Mirrors of apt use plain HTTP, and their packages are signed.
  outbound_ports = { http = 80, https = 443 }
}

resource "aws_security_group" "head" {
  #checkov:skip=CKV2_AWS_5:It is attached in the modules head and flavor, which checkov does not follow

  name        = "${var.name}-head"
  description = "Head of ${var.name}: Horovod launcher and way in to the workers"
  vpc_id      = var.vpc_id

  tags = merge(var.tags, { Name = "${var.name}-head" })

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "worker" {
  #checkov:skip=CKV2_AWS_5:It is attached in the modules head and flavor, which checkov does not follow

  name        = "${var.name}-worker"
  description = "Workers of ${var.name}: Horovod ranks"
  vpc_id      = var.vpc_id

  tags = merge(var.tags, { Name = "${var.name}-worker" })

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "head_ssh" {
  for_each = toset(var.ssh_from)

  security_group_id = aws_security_group.head.id
  description       = "SSH to the head from a named range"
  ip_protocol       = "tcp"
  from_port         = var.ssh_port
  to_port           = var.ssh_port
  cidr_ipv4         = each.value

  tags = merge(var.tags, { Name = "${var.name}-head-ssh" })
}

resource "aws_vpc_security_group_ingress_rule" "head_from_worker" {
  #checkov:skip=CKV_AWS_25:The source is a security group of this cluster, not an address range; checkov reads the missing range as the world

  security_group_id            = aws_security_group.head.id
  description                  = "Horovod rendezvous from the workers"
  ip_protocol                  = "tcp"
  from_port                    = local.unprivileged.from
  to_port                      = local.unprivileged.to
  referenced_security_group_id = aws_security_group.worker.id

  tags = merge(var.tags, { Name = "${var.name}-rendezvous" })
}

# Among the unprivileged ports it is open already.
resource "aws_vpc_security_group_ingress_rule" "head_ssh_from_worker" {
  count = var.ssh_port < local.unprivileged.from ? 1 : 0

  #checkov:skip=CKV_AWS_24:The source is a security group of this cluster, not an address range; checkov reads the missing range as the world

  security_group_id            = aws_security_group.head.id
  description                  = "A worker's switch asks whether the head is there"
  ip_protocol                  = "tcp"
  from_port                    = var.ssh_port
  to_port                      = var.ssh_port
  referenced_security_group_id = aws_security_group.worker.id

  tags = merge(var.tags, { Name = "${var.name}-head-alive" })
}

resource "aws_vpc_security_group_ingress_rule" "worker_ssh" {
  #checkov:skip=CKV_AWS_24:The source is the head's security group, not an address range; checkov reads the missing range as the world

  security_group_id            = aws_security_group.worker.id
  description                  = "SSH from the head alone"
  ip_protocol                  = "tcp"
  from_port                    = var.ssh_port
  to_port                      = var.ssh_port
  referenced_security_group_id = aws_security_group.head.id

  tags = merge(var.tags, { Name = "${var.name}-worker-ssh" })
}

resource "aws_vpc_security_group_ingress_rule" "worker_from_head" {
  #checkov:skip=CKV_AWS_25:The source is a security group of this cluster, not an address range; checkov reads the missing range as the world

  security_group_id            = aws_security_group.worker.id
  description                  = "Horovod notifications from the head"
  ip_protocol                  = "tcp"
  from_port                    = local.unprivileged.from
  to_port                      = local.unprivileged.to
  referenced_security_group_id = aws_security_group.head.id

  tags = merge(var.tags, { Name = "${var.name}-notify" })
}

resource "aws_vpc_security_group_ingress_rule" "worker_from_worker" {
  #checkov:skip=CKV_AWS_25:The source is a security group of this cluster, not an address range; checkov reads the missing range as the world

  security_group_id            = aws_security_group.worker.id
  description                  = "Allreduce between workers"
  ip_protocol                  = "tcp"
  from_port                    = local.unprivileged.from
  to_port                      = local.unprivileged.to
  referenced_security_group_id = aws_security_group.worker.id

  tags = merge(var.tags, { Name = "${var.name}-allreduce" })
}

resource "aws_vpc_security_group_egress_rule" "inside" {
  for_each = { head = aws_security_group.head.id, worker = aws_security_group.worker.id }

  security_group_id = each.value
  description       = "To the other nodes of the cluster"
  ip_protocol       = "tcp"
  from_port         = 0
  to_port           = 65535
  cidr_ipv4         = var.vpc_cidr

  tags = merge(var.tags, { Name = "${var.name}-${each.key}-inside" })
}

resource "aws_vpc_security_group_egress_rule" "head_outside" {
  for_each = local.outbound_ports

  security_group_id = aws_security_group.head.id
  description       = "Packages and AWS APIs by ${each.key}"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
  cidr_ipv4         = "0.0.0.0/0"

  tags = merge(var.tags, { Name = "${var.name}-head-${each.key}" })
}

resource "aws_vpc_security_group_egress_rule" "worker_outside" {
  for_each = local.outbound_ports

  security_group_id = aws_security_group.worker.id
  description       = "Packages and AWS APIs by ${each.key}"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
  cidr_ipv4         = "0.0.0.0/0"

  tags = merge(var.tags, { Name = "${var.name}-worker-${each.key}" })
}
