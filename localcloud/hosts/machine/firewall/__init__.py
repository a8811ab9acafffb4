"""The firewall of a cloud: one nftables table, made of security groups, subnets' ways out and public addresses."""
