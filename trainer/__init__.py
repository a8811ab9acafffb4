"""Trains a Transformer for translation with MXNet, GluonNLP and Horovod, and goes on while its fleet changes."""
