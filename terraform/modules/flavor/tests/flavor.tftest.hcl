mock_provider "aws" {
  mock_data "aws_ec2_instance_type" {
    defaults = {
      default_vcpus                   = 4
      memory_size                     = 8192
      supported_architectures         = ["x86_64"]
      supported_placement_strategies  = ["cluster", "partition", "spread"]
      burstable_performance_supported = false
    }
  }
}

variables {
  cluster           = "unit"
  flavor            = "c5.xlarge"
  capacity          = 2
  max_nodes         = 4
  image             = { id = "ami-0123456789abcdef0", root_device_name = "/dev/sda1", architecture = "x86_64" }
  user_data_base64  = "IyEvYmluL2Jhc2gK"
  subnet_ids        = ["subnet-0123456789abcdef0"]
  security_group_id = "sg-0123456789abcdef0"
  key_name          = "unit"
  instance_profile  = "unit-worker"
}

run "an_on_demand_group_holds_the_capacity_asked_for" {
  command = plan

  assert {
    condition     = aws_autoscaling_group.this.name == "unit-c5.xlarge"
    error_message = "The group must be called CLUSTER-FLAVOR: the controller finds it by that name."
  }

  assert {
    condition     = aws_autoscaling_group.this.desired_capacity == 2 && aws_autoscaling_group.this.min_size == 0 && aws_autoscaling_group.this.max_size == 4
    error_message = "Desired capacity comes from capacity, the least is 0, the most is max_nodes."
  }
}
