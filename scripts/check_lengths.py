#!/usr/bin/env python3
"""A source file has at most 500 lines: one idea per file. (Columns are the formatter's affair.)"""

import pathlib
import subprocess
import sys

MAX_LINES = 500
ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    names = subprocess.run([ROOT / "scripts/source_files.sh"], capture_output=True, text=True, check=True).stdout.split()
    too_long = 0
    for name in names:
        lines = len((ROOT / name).read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES:
            too_long += 1
            print(f"{name}: {lines} lines; at most {MAX_LINES}, one idea per file")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
