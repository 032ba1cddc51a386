"""Find the browser that the page is tested in, or install Debian's Chromium, or say what to do."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium", "fonts-liberation", "fonts-dejavu-core")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REMEDY = (
    "The page is tested in a real browser, and there is none on PATH ({names}).\n"
    "On Debian: apt-get install chromium. Elsewhere install Chromium or Chrome, or name one: BRIMFUL_BROWSER=/path.\n"
    "BROWSER=skip leaves the tests of the page out."
)
NOTICE = (
    "There is no browser on PATH ({names}): installing the system packages {packages} with apt-get now.\n"
    "To install nothing press Ctrl-C, then name a browser with BRIMFUL_BROWSER=/path, or leave the tests of the page "
    "out with BROWSER=skip."
)
REFUSED = "BROWSER=skip is refused where CI is set: there every test runs."


def is_skipped() -> bool:
    """Whether the caller asked to leave out what needs a browser, which CI may not."""
    return os.environ.get("BROWSER") == "skip" and not os.environ.get("CI")


def where() -> str | None:
    """The program to start, or None where there is none."""
    named = os.environ.get("BRIMFUL_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def installed(packages: Sequence[str], notice: str) -> None:
    """Install Debian's packages where this account may; nothing that they bring is started."""
    apt = shutil.which("apt-get")
    rights = [] if apt and os.geteuid() == 0 else ["sudo", "-n"]
    if apt and (not rights or shutil.which("sudo")):
        print(notice, flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        for arguments in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", *packages]):
            subprocess.run([*rights, apt, *arguments], check=False, env=environment, stdout=subprocess.DEVNULL)


def main() -> int:
    """Make sure that there is one; free where there is."""
    if os.environ.get("BROWSER") == "skip":
        if is_skipped():
            return 0
        print(REFUSED)
        return 1
    if where():
        return 0
    installed(PACKAGES, NOTICE.format(names=", ".join(NAMES), packages=", ".join(PACKAGES)))
    if where():
        return 0
    print(REMEDY.format(names=", ".join(NAMES)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
