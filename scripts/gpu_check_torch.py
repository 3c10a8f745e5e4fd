#!/usr/bin/env python3
"""The cases of bench/device_speed.cpp by PyTorch on a CUDA device: lines "case<TAB>seconds" for its --against.

    gpu_check_torch.py [--device N] [--budget SECONDS]

Training steps are timed eager and as a CUDA graph; the graph's line has ", CUDA graph" at its end. Exit code 77 where
there is no PyTorch, or none that sees a GPU.
"""

import argparse
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("PyTorch is not installed", file=sys.stderr)
    sys.exit(77)


def median_seconds(run, runs, budget):
    """Of one run among `runs` that are queued together and waited for at their end."""

    def all_runs():
        start = time.perf_counter()
        for _ in range(runs):
            run()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    all_runs()
    repeats = max(3, min(200, int(budget / max(all_runs(), 1e-6))))
    return statistics.median(all_runs() for _ in range(repeats)) / runs


def mlp(sizes):
    layers = []
    for wide, narrow in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(wide, narrow), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).cuda()


def training_step(name, sizes, batch, budget):
    model = mlp(sizes)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
    x = torch.randn(batch, sizes[0], device="cuda")
    y = torch.randn(batch, sizes[-1], device="cuda")

    def step():
        adam.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
        adam.step()

    yield name, median_seconds(step, 20, budget)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    yield name + ", CUDA graph", median_seconds(graph.replay, 20, budget)


def memory(budget):
    here = torch.rand(64 << 20)
    x, y = here.cuda(), (here + 1).cuda()
    yield "copy to the device, 256 MiB", median_seconds(here.cuda, 1, budget)
    yield "copy to the host, 256 MiB", median_seconds(x.cpu, 1, budget)
    yield "x + 1, 64M floats", median_seconds(lambda: x + 1, 5, budget)
    yield "tanh(x*a+b)*x-y, 64M floats", median_seconds(lambda: torch.tanh(x * 2 + 1) * x - y, 5, budget)
    yield "sum, 64M floats", median_seconds(x.sum, 5, budget)
    small = torch.rand(1024, device="cuda")
    yield "x + 1, 1024 floats, per launch", median_seconds(lambda: small + 1, 1000, budget)


def products(budget):
    for name, dtype in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)):
        a, b = (torch.rand(4096, 4096, device="cuda").to(dtype) for _ in range(2))
        yield f"product of 4096 x 4096, {name}", median_seconds(lambda a=a, b=b: a @ b, 5, budget)


def main():
    parser = argparse.ArgumentParser(description="PyTorch's times for device_speed")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--budget", type=float, default=0.5)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU", file=sys.stderr)
        return 77
    torch.cuda.set_device(options.device)
    budget = options.budget
    for cases in (
        memory(budget),
        training_step("training step, MLP 784-512-256-10, batch 128", [784, 512, 256, 10], 128, budget),
        training_step("training step, MLP 2-16-1, batch 32", [2, 16, 1], 32, budget),
        products(budget),
    ):
        for name, seconds in cases:
            print(f"{name}\t{seconds:.9g}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
