#!/usr/bin/env python3
"""Runs every kernel of the library once on Oclgrind, an interpreter of OpenCL that sees data races: items of a group that
touch the same memory without a barrier in between. First a kernel whose barrier is taken away must be reported.

  check_kernel_races.py <kernel_races_test>

Exit code 77: Oclgrind is not installed.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

DRIVERS = ["/usr/lib/oclgrind/liboclgrind-rt-icd.so", "/usr/local/lib/liboclgrind-rt-icd.so"]
SKIPPED = 77


def run(program, case, folder, more):
    """What Oclgrind reports of a case; ends this script if the case fails."""
    log = folder / "races.log"
    log.unlink(missing_ok=True)
    environment = dict(os.environ, OCL_ICD_VENDORS=str(folder), OCLGRIND_DATA_RACES="1", OCLGRIND_UNIFORM_WRITES="1",
                       OCLGRIND_LOG=str(log), SLUICE_BACKENDS="opencl", **more)
    result = subprocess.run([program, f"--gtest_filter={case}"], env=environment, cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0 or "[  PASSED  ] 1 test." not in result.stdout or "SKIPPED" in result.stdout:
        sys.exit(f"{case} did not run on Oclgrind:\n{result.stdout}")
    return log.read_text(encoding="utf-8") if log.exists() else ""


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    driver = next((name for name in DRIVERS if os.path.exists(name)), None)
    if driver is None:
        print("skipped: Oclgrind is not installed (the package oclgrind)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "oclgrind.icd").write_text(driver + "\n", encoding="utf-8")
        planted = run(program, "KernelRaces.APlantedOne", folder, {"SLUICE_TEST_PLANT_RACE": "1"})
        if "data race" not in planted:
            sys.exit(f"a kernel without its barrier was not reported:\n{planted}")
        found = run(program, "*EveryOperationOnce/OpenCL", folder, {})
        if found.strip():
            sys.exit(f"Oclgrind reports:\n{found}")
    print("no data race in any kernel; the planted one is seen")
    return 0


if __name__ == "__main__":
    sys.exit(main())
