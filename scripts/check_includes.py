#!/usr/bin/env python3
"""Who may include whom.

Public headers form an order and include only headers to their left; src/device reaches no higher than `expr`; public
headers include neither src/ nor anything outside the standard library; kernels include only their dialect (Metal's also
its standard library); backends include only backend.h, backends/common, backends/streams and their own
folder; examples include no internals.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+(<[^>]+>|"[^"]+")')
SUFFIXES = {".hpp", ".cpp", ".h", ".k"}

# Headers of one line may include each other where that is acyclic; a line may include every line above it.
ORDER = [
    ["error"],
    ["log"],
    ["dtype"],
    ["shape"],
    ["device"],
    ["backends"],
    ["memory"],
    ["random"],
    ["tensor"],
    ["tape", "interop", "dlpack"],
    ["op_table"],
    ["expr"],
    ["ops"],
    ["init"],
    ["fields_count", "fields_leaves", "fields"],
    ["model"],
    ["gradient"],
    ["functions", "losses"],
    ["layers", "layers_conv", "layers_seq"],
    ["optimisers"],
    ["observations", "splits", "loader", "onehot", "readers", "data", "npy", "state", "checkpoint"],
    ["train"],
    ["sluice"],
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
DEVICE_CEILING = "expr"
KERNEL_MAY_INCLUDE = {"dialect.h", "metal_stdlib"}


def included(path):
    """(line number, header name, is it written with angle brackets) for each include of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            target = match.group(1)
            yield number, target[1:-1], target[0] == "<"


def is_standard(name):
    return re.fullmatch(r"[a-z0-9_]+(\.h)?", name) is not None


def level_of(name):
    """The level of a public header written as sluice/<name>.hpp, or None."""
    match = re.fullmatch(r"sluice/([a-z0-9_]+)\.hpp", name)
    return LEVEL.get(match.group(1)) if match else None


def public_faults(path, number, name, angled):
    own = path.stem
    if name == "sluice/backend.h":
        return
    if name.startswith("sluice/"):
        if level_of(name) is None:
            yield f"{name} has no place in the order of scripts/check_includes.py"
        elif path.suffix == ".h":
            yield f"{path.name} includes nothing of the library"
        elif own in LEVEL and level_of(name) > LEVEL[own]:
            yield f"{own} comes before {name} in the order"
    elif not (angled and is_standard(name)):
        yield f"a public header includes {name}, which is neither ours nor the standard library's"


def device_faults(path, number, name, angled):
    level = level_of(name)
    if level is not None and level > LEVEL[DEVICE_CEILING]:
        yield f"src/device includes {name}; it reaches no higher than {DEVICE_CEILING}"


def kernel_faults(path, number, name, angled):
    if pathlib.PurePosixPath(name).name not in KERNEL_MAY_INCLUDE:
        yield f"a kernel includes {name}; it may include {', '.join(sorted(KERNEL_MAY_INCLUDE))} only"


def backend_faults(path, number, name, angled):
    own = path.relative_to(ROOT).parent.as_posix() + "/"
    ours = name == "sluice/backend.h" or name.startswith(("backends/common/", "backends/streams/", own))
    # The folder of what backends with streams share is compiled for each of them.
    ours = ours or (own == "backends/streams/" and name.endswith("_api.hpp"))
    if not ours and not (angled and is_standard(name)):
        allowed = "sluice/backend.h, backends/common/, backends/streams/ and its own folder"
        yield f"a backend includes {name}; it may include {allowed} only"


def example_faults(path, number, name, angled):
    if name.startswith(("src/", "kernels/")):
        yield f"an example includes {name}; it shows the public interface only"


RULES = [
    ("include", public_faults),
    ("src/device", device_faults),
    ("kernels", kernel_faults),
    ("backends", backend_faults),
    ("examples", example_faults),
]


def cycles():
    """Cycles among the public headers; headers of one level are the only ones that could form one."""
    graph = {}
    for path in (ROOT / "include/sluice").glob("*.hpp"):
        graph[f"sluice/{path.name}"] = {name for _, name, _ in included(path)}
    done, trail = set(), []

    def visit(name):
        if name in trail:
            yield "include cycle: " + " -> ".join(trail[trail.index(name):] + [name])
        elif name in graph and name not in done:
            trail.append(name)
            for target in sorted(graph[name]):
                yield from visit(target)
            trail.pop()
            done.add(name)

    for name in sorted(graph):
        yield from visit(name)


def main():
    faults, count = list(cycles()), 0
    for path in sorted((ROOT / "include/sluice").glob("*.hpp")):
        if path.stem not in LEVEL:
            faults.append(f"include/sluice/{path.name} has no place in the order of scripts/check_includes.py")
    for folder, rule in RULES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            count += 1
            where = path.relative_to(ROOT).as_posix()
            for number, name, angled in included(path):
                faults += [f"{where}:{number}: {fault}" for fault in rule(path, number, name, angled)]
    for fault in faults:
        print(fault)
    print(f"{count} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
