"""What the hardware of an instance type tells: its speed, how alike two types are, whether a training fits it."""
