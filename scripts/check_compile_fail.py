#!/usr/bin/env python3
"""Each tests/compile_fail/*.cpp must fail to compile with the message its first line asks for: `// expect: <regex>`.

Argument: the C++ compiler.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXPECT = re.compile(r"// expect: (.+)")


def fault_of(job):
    compiler, path = job
    name = path.relative_to(ROOT).as_posix()
    with path.open(encoding="utf-8") as file:
        expected = EXPECT.match(file.readline().strip())
    if not expected:
        return f"{name}: the first line must be `// expect: <regex>`"
    command = [compiler, "-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{ROOT / 'include'}", str(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0:
        return f"{name}: compiles, but must not"
    # Only the compiler's own lines count: the source lines it quotes hold the expectation itself.
    errors = "\n".join(line for line in result.stderr.splitlines() if ": error:" in line or ": note:" in line)
    if not re.search(expected.group(1), errors):
        return f"{name}: no error matches '{expected.group(1)}':\n{errors}"
    return None


def main():
    jobs = [(sys.argv[1], path) for path in sorted((ROOT / "tests/compile_fail").glob("*.cpp"))]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        faults = [fault for fault in pool.map(fault_of, jobs) if fault]
    for fault in faults:
        print(fault)
    print(f"{len(jobs)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
