#!/usr/bin/env python3
"""Files of Python's safetensors and numpy go through the `sluice` command and come back bit for bit.

    check_python_files.py <the sluice command>

Runs in the first of $SLUICE_PYTHON, this interpreter and python3 that has both packages; exit code 77 where none has.
"""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    from safetensors.numpy import load_file, save_file
except ImportError:
    numpy = None

TYPES = "float64 float32 float16 int64 int32 int16 int8 uint8 bool".split()
SHAPES = [(), (3,), (2, 3), (2, 3, 4), (0, 2)]


def other_interpreter():
    """One that has the packages, or None."""
    for name in [os.environ.get("SLUICE_PYTHON"), "python3", "/usr/bin/python3"]:
        if name and subprocess.run([name, "-c", "import numpy, safetensors"], capture_output=True, check=False).returncode == 0:
            return name
    return None


def arrays():
    """An array of every type and shape, with NaN and infinity among the floats."""
    made = {}
    for dtype, shape in itertools.product(TYPES, SHAPES):
        count = int(numpy.prod(shape, dtype=int))
        values = (numpy.arange(count) - 3).reshape(shape).astype(dtype)
        if dtype.startswith("float") and count > 2:
            values.flat[0], values.flat[1] = numpy.nan, numpy.inf
        made[f"{dtype}.{'x'.join(map(str, shape)) or 'scalar'}"] = values
    made["ünï/code \"quoted\""] = numpy.ones(2, dtype="float32")
    return made


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def run(command, *words):
    subprocess.run([command, *map(str, words)], check=True)


def faults(command, folder):
    """What did not come back as it went."""
    made = arrays()

    def compare(what, found, expected):
        for name in sorted(set(found) | set(expected)):
            if name not in found or name not in expected or not same(found[name], expected[name]):
                yield f"{what}: {name}: {found.get(name)} for {expected.get(name)}"

    save_file(made, folder / "a.safetensors", metadata={"format": "np"})
    run(command, "convert", folder / "a.safetensors", folder / "b.safetensors")
    yield from compare("safetensors", load_file(folder / "b.safetensors"), made)

    index = folder / "shards.safetensors.index.json"
    run(command, "convert", folder / "a.safetensors", index)
    shards = {shard: load_file(folder / shard) for shard in set(json.loads(index.read_text())["weight_map"].values())}
    listed = json.loads(index.read_text())["weight_map"].items()
    yield from compare("index", {name: shards[shard][name] for name, shard in listed}, made)

    # A tensor of the library has the sizes of safetensors in reverse order, and .npz files keep its indices.
    run(command, "convert", folder / "b.safetensors", folder / "c.npz")
    reversed_sizes = {name: numpy.asarray(value.T) for name, value in made.items()}
    yield from compare("safetensors to npz", dict(numpy.load(folder / "c.npz")), reversed_sizes)

    in_both_orders = {f"{name}.f": numpy.asfortranarray(value) for name, value in made.items()} | made
    for write in [numpy.savez, numpy.savez_compressed]:
        write(folder / "d.npz", **in_both_orders)
        run(command, "convert", folder / "d.npz", folder / "e.npz")
        yield from compare(write.__name__, dict(numpy.load(folder / "e.npz")), in_both_orders)
        run(command, "convert", folder / "d.npz", folder / "f.safetensors")
        transposed = {name: value.T.copy(order="C") for name, value in in_both_orders.items()}
        yield from compare("npz to safetensors", load_file(folder / "f.safetensors"), transposed)

    numpy.save(folder / "g.npy", made["float32.2x3"].astype(">f4"))
    run(command, "convert", folder / "g.npy", folder / "h.npy")
    yield from compare("npy", {"x": numpy.load(folder / "h.npy")}, {"x": made["float32.2x3"]})


def main():
    if numpy is None:
        python = None if "SLUICE_CHECK_AGAIN" in os.environ else other_interpreter()
        if python is None:
            print("skipped: no Python with numpy and safetensors; name one in $SLUICE_PYTHON")
            return 77
        environment = {**os.environ, "SLUICE_CHECK_AGAIN": "1"}
        return subprocess.run([python, __file__, *sys.argv[1:]], env=environment, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        found = list(faults(sys.argv[1], pathlib.Path(folder)))
    for fault in found:
        print(fault)
    print(f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
