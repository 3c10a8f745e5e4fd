#!/usr/bin/env python3
"""Every public header compiles alone, without warnings; backend.h does so as C11 too. Argument: the C++ compiler."""

import concurrent.futures
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only", f"-I{INCLUDE}"]


def commands(compiler):
    for header in sorted(INCLUDE.glob("sluice/**/*.h*")):
        name = header.relative_to(INCLUDE).as_posix()
        yield name, [compiler, "-x", "c++", "-std=c++20", *WARNINGS, "-"]
        if header.suffix == ".h":
            yield f"{name} (C11)", [compiler, "-x", "c", "-std=c11", "-pedantic", *WARNINGS, "-"]


def compile_alone(job):
    name, command = job
    # Twice, so a missing include guard is an error as well.
    source = f"#include <{name.split(' ')[0]}>\n" * 2
    result = subprocess.run(command, input=source, capture_output=True, text=True)
    return name, result.returncode, result.stderr


def main():
    jobs = list(commands(sys.argv[1]))
    if not jobs:
        print(f"no headers under {INCLUDE}")
        return 1
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        failures = [(name, text) for name, status, text in pool.map(compile_alone, jobs) if status != 0]
    for name, text in failures:
        print(f"{name} does not compile alone:\n{text}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
