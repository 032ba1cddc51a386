"""Renew requirements/*.lock: every version and hash, for Python 3.11 to 3.13, without naming an index."""

import subprocess
import sys
from pathlib import Path

SETS = {
    "demo": ["pyproject.toml"],
    "test": ["pyproject.toml", "--extra", "test"],
    "bench": ["pyproject.toml", "--extra", "test", "--extra", "bench"],
    "oracles": ["requirements/oracles.in", "--no-deps"],
    "fuzz": ["requirements/fuzz.in", "--no-deps"],
    "docs": ["requirements/docs.in"],
}


def main() -> int:
    """Run uv's resolver once per set; uv itself is installed on demand, since only maintainers need it."""
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "uv"], check=True)
    for name, source in SETS.items():
        target = Path("requirements", f"{name}.lock")
        command = [
            *(sys.executable, "-m", "uv", "pip", "compile", *source, "--quiet", "--upgrade"),
            *("--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url"),
            *("--no-emit-find-links", "--no-annotate", "--no-header", "--output-file", str(target)),
        ]
        subprocess.run(command, check=True)
        print(f"{target}: {target.read_text().count('==')} pins")
    return 0


if __name__ == "__main__":
    sys.exit(main())
