"""`python -m mluop_omp replay`: runs a model on the inputs of a run."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
from typing import Any, Callable

from mluop_omp import _requirements
from mluop_omp.golden._command import add_common, print_report, rules_of, write_json
from mluop_omp.golden.runs import replay

_DESCRIPTION = """
Calls every module of MODEL on the inputs that are recorded in RUN, a file of mluop_omp.record, and
lists the modules whose outputs rounding does not explain. Each module is judged alone.
MODEL may be an ONNX model, whose nodes are judged; RUN may then also be a .npz of tensors by their
names in the graph, a RunResults of Polygraphy, or a dump of msprobe.
"""
_EPILOG = """
Exit status: 0 every call agrees; 1 a call stands out, or parameters or calls differ; 2 nothing was
compared, or the arguments are invalid.
"""
# Functions that replay models in files of other suffixes, and add their options to the parser.
REPLAYS: dict[str, Callable[[argparse.Namespace], Any]] = {}
OPTIONS: list[Callable[[argparse.ArgumentParser], None]] = []


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "replay",
        help="find the modules that compute something else than in a run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="FILE.py:NAME or PACKAGE.MODULE:NAME of a torch.nn.Module, or of a function without "
        "arguments that returns one; or FILE.onnx",
    )
    parser.add_argument("file", metavar="RUN", help="the run of the device, or of a reference")
    parser.add_argument(
        "--inputs",
        metavar="FILE.pt",
        help="the arguments of the model, written by torch.save: a tuple, a dict of named "
        "arguments, or the only one; default: the recorded ones. ONNX model: a .npz of inputs that "
        "RUN lacks",
    )
    for add in OPTIONS:
        add(parser)
    add_common(parser, "rename each module of MODEL", "RUN")
    parser.add_argument("--all", action="store_true", help="list every call")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the report and returns the exit status. Raises ValueError, TypeError or OSError."""
    suffix = os.path.splitext(arguments.model)[1].lower()
    result = REPLAYS.get(suffix, _replay)(arguments)
    print_report(result.text(arguments.all))
    write_json(arguments, result)
    differs = result.suspects or result.state or result.missing
    has_compared = any(each.errors for each in result.calls)
    return 0 if result else 1 if differs and has_compared else 2


def _replay(arguments: argparse.Namespace) -> Any:
    _requirements.require("torch")
    model = _model(arguments.model)
    names = rules_of(arguments)
    return replay(model, arguments.file, _inputs(arguments.inputs), names=names)


def _inputs(path: str | None) -> Any:
    import torch

    return None if path is None else torch.load(path, map_location="cpu", weights_only=True)


def _model(text: str) -> Any:
    import torch

    source, sign, name = text.rpartition(":")
    if not sign or not source or not name:
        raise ValueError(f"MODEL is {text!r}, expected FILE.py:NAME or PACKAGE.MODULE:NAME")
    try:
        module = _file(source) if source.endswith(".py") else importlib.import_module(source)
    except ImportError as error:
        raise ValueError(f"MODEL is {text!r}: {error}") from None
    if not hasattr(module, name):
        raise ValueError(f"MODEL is {text!r}, but {source} has no {name}")
    found = getattr(module, name)
    model = found if isinstance(found, torch.nn.Module) or not callable(found) else found()
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"{text} is of type {type(model).__name__}, expected torch.nn.Module")
    return model


def _file(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("replayed_model", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
