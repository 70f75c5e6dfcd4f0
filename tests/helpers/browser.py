"""Opening a page in Chromium, without network."""

import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--enable-logging=stderr",
]


def browse(address, profile, *flags, time_ms=2000):
    """Return the finished process; the document, as scripts have left it, is its output."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip("There is no Chromium to open the page in.")
    own = [f"--user-data-dir={profile}", f"--virtual-time-budget={time_ms}", "--dump-dom"]
    return subprocess.run(
        [browser, *FLAGS, *own, *flags, address],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
