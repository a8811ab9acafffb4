locals {
  name = "${var.cluster}-head"

  tags = merge(var.tags, {
    Name              = local.name
    "centavo:cluster" = var.cluster
    "centavo:role"    = "head"
    "centavo:flavor"  = var.instance_type
  })
}

data "aws_ec2_instance_type" "this" {
  instance_type = var.instance_type
}

resource "aws_instance" "this" {
  #checkov:skip=CKV_AWS_126:Metrics of every minute cost extra and nothing reads them; the variable detailed_monitoring switches them on

  ami                         = var.image.id
  instance_type               = var.instance_type
  subnet_id                   = var.subnet_id
  vpc_security_group_ids      = [var.security_group_id]
  associate_public_ip_address = var.public
  key_name                    = var.key_name
  iam_instance_profile        = var.instance_profile
  user_data_base64            = var.user_data_base64
  monitoring                  = var.detailed_monitoring
  ebs_optimized               = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "enabled"
  }

  root_block_device {
    volume_type           = "gp3"
    volume_size           = var.volume_gb
    encrypted             = true
    delete_on_termination = true
    tags                  = local.tags
  }

  tags = local.tags

  lifecycle {
    # EC2 takes the public address of a stopped head away: that is no reason to make another head. Another value of `public` comes
    # with another subnet, and that makes one.
    ignore_changes = [associate_public_ip_address]

    precondition {
      condition     = contains(data.aws_ec2_instance_type.this.supported_architectures, var.image.architecture)
      error_message = "The head's instance type ${var.instance_type} cannot run the image ${var.image.id}, which is made for ${var.image.architecture}. Change head.instance_type, or name an image for ${join(" or ", data.aws_ec2_instance_type.this.supported_architectures)}."
    }

    precondition {
      condition     = data.aws_ec2_instance_type.this.ebs_optimized_support != "unsupported"
      error_message = "The head's instance type ${var.instance_type} is not EBS-optimized: it has no bandwidth of its own for its volume. Set head.instance_type to a newer type, such as t3.large."
    }
  }
}
