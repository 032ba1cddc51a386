"""Find the browser that the page is tested in, or install Debian's Chromium, or say what to do."""

import os
import shutil
import subprocess
import sys

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
    "On Debian: apt-get install chromium. Elsewhere install Chromium or Chrome, or name one: BRIMFUL_BROWSER=/path"
)


def where() -> str | None:
    """The program to start, or None where there is none."""
    named = os.environ.get("BRIMFUL_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def main() -> int:
    """Make sure that there is one; free where there is."""
    if where():
        return 0
    apt = shutil.which("apt-get")
    rights = [] if apt and os.geteuid() == 0 else ["sudo", "-n"]
    if apt and (not rights or shutil.which("sudo")):
        print("Installing Chromium for the tests of the page …", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for arguments in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", *PACKAGES]):
            subprocess.run([*rights, apt, *arguments], check=False, env=environment, stdout=subprocess.DEVNULL)
    if where():
        return 0
    print(REMEDY.format(names=", ".join(NAMES)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
