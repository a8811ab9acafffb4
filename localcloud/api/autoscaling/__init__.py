"""Auto Scaling groups that work towards their desired capacity over time."""
