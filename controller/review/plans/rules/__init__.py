"""What is dangerous in a plan, a module for each subject. A rule yields what it finds in one change."""
