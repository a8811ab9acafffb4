"""The settings of one environment, typed and checked before anything costs money."""
