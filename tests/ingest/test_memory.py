"""Memory of indexing does not grow with the text (docs/reliability.md has the figures at full size)."""

import subprocess
import sys

import pytest

INDEXING = """
import resource, sys
from pathlib import Path
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with SqliteStore(Path(sys.argv[2])) as store:
    report = ingest(store, sys.argv[1])
assert report.added and not report.skipped, report
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
@pytest.mark.parametrize(("file_megabytes", "files", "most"), [(48, 1, 90), (1, 48, 200)])
def test_indexing_takes_a_bounded_amount_of_memory(tmp_path, file_megabytes, files, most):
    """In megabytes: one long text is read in blocks, many files in batches of one segment; none is left out."""
    (tmp_path / "in").mkdir()
    lines = "".join(
        f"Tea number {number} is word{number * 7919 % 30_011} of page {number // 40}.\n" for number in range(25_000)
    )
    text = (lines * 2)[:1_000_000]
    for number in range(files):
        with (tmp_path / "in" / f"{number}.txt").open("w") as file:
            for _ in range(file_megabytes):
                file.write(text)
    command = [sys.executable, "-c", INDEXING, str(tmp_path / "in"), str(tmp_path / "store.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= most
