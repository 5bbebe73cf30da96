"""Plugin nodes of ONNX graphs on CPUs.

Graphs that are exported for TensorRT, Autoware or accelerators hold nodes that are not operators of
ONNX. `nodes` lists the ones that this package computes; `evaluator` evaluates a graph with
onnx.reference, `session` with onnxruntime, `register_polygraphy` is for Polygraphy. `record` and
`replay` find the node whose outputs differ on a device. `export` writes a module of PyTorch whose
operators of mluop_omp become nodes. docs/onnx.md describes them.

The extra `onnx` installs what the functions import. The nodes require NumPy only.
"""

from mluop_omp.onnx import _nodes as _nodes
from mluop_omp.onnx._export import export
from mluop_omp.onnx._references import evaluator, references, register_polygraphy
from mluop_omp.onnx._replay import replay
from mluop_omp.onnx._runs import record
from mluop_omp.onnx._session import session
from mluop_omp.onnx._table import Node, nodes, run

__all__ = [
    "Node",
    "evaluator",
    "export",
    "nodes",
    "record",
    "references",
    "register_polygraphy",
    "replay",
    "run",
    "session",
]
