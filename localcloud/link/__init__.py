"""What joins the process of the API with the process of the hosts: the values that travel, and their way."""
