"""Fused operators in C++ for the CPU, which MXNet loads as a library of operators.

They compute what GluonNLP's blocks compute, with fewer passes over memory. A machine without a C++ compiler trains
without them, and so does `CENTAVO_KERNELS=off`: more slowly, with the same results up to rounding in float32.
"""
