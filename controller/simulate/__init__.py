"""A discrete-event simulation of fleet, training and prices around the real decision function."""
