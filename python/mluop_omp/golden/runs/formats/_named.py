"""Tensors by their names in a graph: a .npz, as numpy.savez writes it."""

from __future__ import annotations

import contextlib
import zipfile
from typing import Any, Callable

import numpy as np

from mluop_omp.golden.comparison import _files
from mluop_omp.golden.runs._objects import Invalid


def read(
    path: str, resources: contextlib.ExitStack
) -> tuple[dict[str, Any], Callable[[str], np.ndarray]]:
    if not path.lower().endswith(".npz"):
        raise Invalid("is not a run, expected one, or a .npz of tensors by their names")
    file = resources.enter_context(zipfile.ZipFile(path))
    members = _files.unique((each.filename, each) for each in file.infolist())
    tensors, calls = [], []
    for member, info in members.items():
        name = member.removesuffix(".npy")
        with file.open(info) as stream:
            shape, _, dtype = _files.npy_header(stream)
        if dtype.kind not in "biufc":
            raise Invalid(f"has elements of {dtype} in {name}, expected numbers")
        tensors.append({"name": name, "dtype": dtype.name, "shape": list(shape)})
        head = {"module": name, "call": 0, "class": "output", "inputs": []}
        calls.append({**head, "outputs": [{"path": "", "tensor": name}]})
    parts = {"tensors": tensors, "calls": calls, "gradients": []}

    def tensor(name: str) -> np.ndarray:
        return _files.read_member(file, members.get(f"{name}.npy") or members[name])

    return {"model": "tensors by name", "seed": "0", **parts}, tensor
