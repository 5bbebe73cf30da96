"""An example of each node: the EXAMPLES of the modules examples_*.py, by the node's name.

A key is a name, or "domain::name" if several nodes have it. A value is a function of a random
generator that returns inputs and attributes. STATES of a module has the keyword arguments of
`mluop_omp.onnx.references` that the example of a node needs, as a function of the example's inputs.
"""

from __future__ import annotations

import importlib
import zlib
from pathlib import Path
from typing import Any, Callable

import numpy as np

from mluop_omp.onnx import Node, nodes
from mluop_omp.onnx._references import coordinates
from mluop_omp.onnx._state import State

Inputs = list[np.ndarray]


def modules() -> list[Any]:
    files = sorted(Path(__file__).parent.glob("examples_*.py"))
    return [importlib.import_module(file.stem) for file in files]


def collected(table: str) -> dict[str, Callable]:
    found: dict[str, Callable] = {}
    for module in modules():
        for key, make in getattr(module, table, {}).items():
            assert key not in found, f"{key} has two entries in {table}"
            found[key] = make
    return found


def key_of(node: Node) -> str:
    """Returns the key of a node: its name, with its first domain if another node has the name."""
    same = [each for each in nodes() if each.name == node.name]
    return node.name if len(same) == 1 else f"{node.domains[0]}::{node.name}"


EXAMPLES = collected("EXAMPLES")
STATES = collected("STATES")


def example(node: Node) -> tuple[Inputs, dict[str, Any], dict[str, Any]]:
    """Returns inputs, attributes and arguments of references. Its numbers depend on the name."""
    key = key_of(node)
    # Some modules write the domain of a node whose name is its own, too.
    known = key if key in EXAMPLES else f"{node.domains[0]}::{node.name}"
    inputs, attributes = EXAMPLES[known](np.random.default_rng(zlib.crc32(key.encode())))
    given = STATES[known](inputs) if known in STATES else {}
    return inputs, attributes, given


def state(given: dict[str, Any]) -> State:
    return coordinates(**given)
