#!/usr/bin/env python3
"""Writes torch_mlp.safetensors and torch_names.safetensors: small PyTorch models with what they answer.

Needs torch and safetensors. The weights are those of the state_dict; "input" and "output" are batch first, as PyTorch
has them. The files beside this script were written by it with torch 1.13 on the CPU.
"""

import pathlib

import torch
from safetensors.torch import save_file
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent


class Named(nn.Module):
    """Attributes with names of their own, a list, and a Sequential inside another one."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(5, 7)
        self.blocks = nn.ModuleList([nn.Linear(7, 7), nn.Linear(7, 7)])
        self.head = nn.Sequential(nn.Sequential(nn.Linear(7, 6), nn.ReLU()), nn.Dropout(0.5), nn.Linear(6, 2, bias=False))

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        for block in self.blocks:
            x = torch.tanh(block(x))
        return self.head(x)


def write(name, model, features):
    model.eval()
    x = torch.randn(9, features)
    with torch.no_grad():
        y = model(x)
    tensors = {f"model.{key}": value.contiguous() for key, value in model.state_dict().items()}
    save_file({**tensors, "input": x, "output": y}, str(FOLDER / name))


def main():
    torch.manual_seed(2024)
    write("torch_mlp.safetensors", nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)), 4)
    write("torch_names.safetensors", Named(), 5)


if __name__ == "__main__":
    main()
