"""Which version is this? Alone here, so that `brimful --version` reads nothing else."""

VERSION = "0.1.0"
