"""What people see while a run goes on."""
