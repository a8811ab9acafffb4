"""What the hardware of an instance type tells of its speed, and how alike two types are."""
