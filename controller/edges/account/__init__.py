"""What an AWS account holds beside the fleet: the bucket's objects, what a destroy leaves, and who may do what."""
