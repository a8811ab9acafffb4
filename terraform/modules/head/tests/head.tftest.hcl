mock_provider "aws" {
  mock_data "aws_ec2_instance_type" {
    defaults = {
      ebs_optimized_support   = "default"
      supported_architectures = ["x86_64"]
    }
  }

  mock_resource "aws_instance" {
    defaults = {
      public_ip  = "203.0.113.20"
      private_ip = "10.20.0.4"
    }
  }
}

variables {
  cluster           = "unit"
  instance_type     = "t3.micro"
  image             = { id = "ami-0123456789abcdef0", architecture = "x86_64" }
  user_data_base64  = "IyEvYmluL2Jhc2gK"
  subnet_id         = "subnet-0123456789abcdef0"
  security_group_id = "sg-0123456789abcdef0"
  key_name          = "unit"
  instance_profile  = "unit-head"
  tags              = { Project = "unit-test" }
}

run "by_default_the_head_has_a_private_address_only" {
  command = apply

  assert {
    condition     = output.public_ip == null && output.private_ip == "10.20.0.4"
    error_message = "Without public = true the head must have no public address."
  }
}

run "a_public_head_has_its_address_as_an_output" {
  command = apply

  variables {
    public = true
  }

  assert {
    condition     = output.public_ip == "203.0.113.20"
    error_message = "The output public_ip must be the head's public address."
  }
}

run "the_head_requires_imdsv2_and_encrypts_its_volume" {
  command = plan

  assert {
    condition = (
      aws_instance.this.metadata_options[0].http_tokens == "required" && aws_instance.this.metadata_options[0].http_put_response_hop_limit == 1 &&
      aws_instance.this.metadata_options[0].instance_metadata_tags == "enabled" && aws_instance.this.root_block_device[0].encrypted
    )
    error_message = "The head must require IMDSv2 with a hop limit of 1, show its tags in its metadata, and encrypt its volume."
  }
}

run "the_head_and_its_volume_carry_the_tags" {
  command = plan

  assert {
    condition = alltrue([
      for tags in [aws_instance.this.tags, aws_instance.this.root_block_device[0].tags] :
      tags["centavo:cluster"] == "unit" && tags["centavo:role"] == "head" && tags["centavo:flavor"] == "t3.micro" && tags["Project"] == "unit-test"
    ])
    error_message = "The head and its volume must carry cluster, role, flavor and the caller's tags."
  }
}

run "refuses_a_text_that_is_no_instance_type" {
  command = plan

  variables {
    instance_type = "small"
  }

  expect_failures = [var.instance_type]
}

run "refuses_a_volume_smaller_than_the_image" {
  command = plan

  variables {
    volume_gb = 1
  }

  expect_failures = [var.volume_gb]
}

run "refuses_an_image_of_another_architecture" {
  command = plan

  variables {
    image = { id = "ami-0123456789abcdef0", architecture = "arm64" }
  }

  expect_failures = [aws_instance.this]
}

run "refuses_a_type_that_is_not_ebs_optimized" {
  command = plan

  override_data {
    target = data.aws_ec2_instance_type.this
    values = {
      ebs_optimized_support   = "unsupported"
      supported_architectures = ["x86_64"]
    }
  }

  expect_failures = [aws_instance.this]
}
