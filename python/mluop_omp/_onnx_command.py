"""`python -m mluop_omp record`, and `replay` of an ONNX model.

mluop_omp.onnx is imported when one of them runs: other commands start without its nodes.
"""

from __future__ import annotations

import argparse
import zipfile
from typing import Any

import numpy as np

from mluop_omp.golden._command import print_report, rules_of, shape
from mluop_omp.golden.runs import Run

_DESCRIPTION = """
Runs MODEL, an ONNX model with or without plugin nodes, and records the inputs and outputs of all
its nodes in a file, which `compare` and `replay` take.
"""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "record", help="run an ONNX model and record its nodes", description=_DESCRIPTION
    )
    parser.add_argument("model", metavar="MODEL.onnx", help="the model")
    parser.add_argument(
        "--inputs", metavar="FILE.npz", required=True, help="the inputs of the graph by their names"
    )
    parser.add_argument("--output", metavar="RUN", required=True, help="the file to write")
    parser.add_argument(
        "--onnxruntime",
        action="store_true",
        help="run ONNX's nodes with onnxruntime; default: with onnx.reference",
    )
    add_sites(parser)
    parser.add_argument(
        "--max-bytes", metavar="N", type=int, help="largest size of the file; default: 2^30"
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="selects samples of large tensors"
    )
    parser.set_defaults(run=run)


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--node", metavar="NAME", help="ONNX model: the only node to compute")
    add_sites(parser)


def add_sites(parser: argparse.ArgumentParser) -> None:
    """Adds the options for graphs of sparse networks that have features only."""
    parser.add_argument(
        "--indices",
        metavar="FILE.npy",
        help="ONNX model of a sparse network that has features only: their coordinates [n, 4]",
    )
    parser.add_argument(
        "--spatial-shape", metavar="D,D,D", type=shape, help="the grid of the coordinates"
    )


def sites_of(arguments: argparse.Namespace) -> dict[str, Any]:
    path = arguments.indices
    indices = None if path is None else _read(path)
    if not isinstance(indices, (np.ndarray, type(None))):
        raise ValueError(f"{path} is an archive, expected a .npy")
    return {"indices": indices, "spatial_shape": arguments.spatial_shape}


def _read(path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: {error}") from None


def _inputs(path: str) -> dict[str, np.ndarray]:
    found = _read(path)
    if isinstance(found, np.ndarray):
        raise ValueError(f"{path} has no names of tensors, expected a .npz")
    with found:
        return dict(found)


def run(arguments: argparse.Namespace) -> int:
    """Records a run and prints what it has."""
    from mluop_omp.onnx._runs import MAX_BYTES, record

    record(
        arguments.model,
        _inputs(arguments.inputs),
        arguments.output,
        runtime="onnxruntime" if arguments.onnxruntime else "reference",
        max_bytes=MAX_BYTES if arguments.max_bytes is None else arguments.max_bytes,
        seed=arguments.seed,
        **sites_of(arguments),
    )
    with Run(arguments.output) as recorded:
        print_report(str(recorded))
    return 0


def replay(arguments: argparse.Namespace) -> Any:
    """Returns the result of `python -m mluop_omp replay` for an ONNX model."""
    from mluop_omp.onnx._replay import replay

    inputs = None if arguments.inputs is None else _inputs(arguments.inputs)
    return replay(
        arguments.model,
        arguments.file,
        inputs,
        node=arguments.node,
        names=rules_of(arguments),
        **sites_of(arguments),
    )
