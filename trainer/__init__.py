"""Trains a Transformer for translation with MXNet, GluonNLP and Horovod, while the fleet under it changes."""
