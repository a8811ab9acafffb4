"""Simulated nights: twelve hours in which controller, head, bucket, clocks and the reaper fail, in milliseconds."""
