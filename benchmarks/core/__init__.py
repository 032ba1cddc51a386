"""The parts of `make bench-core`: texts, peers, and one module for each thing that is measured."""
