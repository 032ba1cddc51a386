"""The parts of benchmarks/eval.py."""
