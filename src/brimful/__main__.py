"""`python -m brimful`: the command line."""

from brimful.surfaces.cli import run

if __name__ == "__main__":
    run()
