#!/usr/bin/env python3
"""Files have at most 500 lines and lines at most 120 columns."""

import pathlib
import subprocess
import sys

MAX_LINES = 500
MAX_COLUMNS = 120
ROOT = pathlib.Path(__file__).resolve().parent.parent


def faults_of(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_LINES:
        yield f"{name}: {len(lines)} lines; at most {MAX_LINES}, one idea per file"
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_COLUMNS:
            yield f"{name}:{number}: {len(line)} columns; at most {MAX_COLUMNS}"


def main():
    names = subprocess.run([ROOT / "scripts/source_files.sh"], capture_output=True, text=True, check=True).stdout.split()
    faults = [fault for name in names for fault in faults_of(name)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
