"""Prices that are configured: the price list of on-demand instances, and the history of spot prices."""
