"""The extension of `polygraphy run`, which finds it as an entry point of the package.

--pluginref knows the nodes, and there are two more runners: --mluop-omp evaluates the whole graph
with onnx.reference, --mluop-omp-onnxrt runs it with onnxruntime, the nodes computed by the table.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

import numpy as np
from polygraphy import util
from polygraphy.backend.base import BaseRunner
from polygraphy.backend.onnx.util import get_input_metadata
from polygraphy.tools.args import OnnxLoadArgs
from polygraphy.tools.args.base import BaseRunnerArgs
from polygraphy.tools.script import make_invocable

from mluop_omp.onnx._references import evaluator, register_polygraphy

__all__ = ["EvaluatorRunner", "SessionOfNodes", "argument_groups"]


def argument_groups() -> list[BaseRunnerArgs]:
    """Registers the nodes, and returns the groups of arguments of the runners."""
    register_polygraphy()
    return [_EvaluatorArgs(), _SessionArgs()]


class EvaluatorRunner(BaseRunner):  # type: ignore[misc]
    """A runner of Polygraphy that evaluates a model with onnx.reference and the nodes.

    model: a ModelProto, or a function that returns one.
    """

    def __init__(self, model: Any, name: str | None = None) -> None:
        super().__init__(name=name, prefix="mluop-omp-runner")
        self._model = model

    def activate_impl(self) -> None:
        model, _ = util.invoke_if_callable(self._model)
        self._metadata = get_input_metadata(model.graph)
        self._evaluator = evaluator(model)

    def get_input_metadata_impl(self) -> Any:
        return self._metadata

    def infer_impl(self, feed_dict: dict[str, Any]) -> OrderedDict[str, np.ndarray]:
        feeds = {name: util.array.to_numpy(each) for name, each in feed_dict.items()}
        begin = time.perf_counter()
        outputs = self._evaluator.run(None, feeds)
        self.inference_time = time.perf_counter() - begin
        return OrderedDict(zip(self._evaluator.output_names, outputs))

    def deactivate_impl(self) -> None:
        del self._evaluator, self._metadata


class SessionOfNodes:
    """A function without arguments that returns the session of a model, as OnnxrtRunner takes it.

    model: a ModelProto, or a function that returns one.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self) -> Any:
        from mluop_omp.onnx._session import session

        return session(util.invoke_if_callable(self._model)[0])


class _EvaluatorArgs(BaseRunnerArgs):  # type: ignore[misc]
    """
    mluop_omp: evaluating the graph with onnx.reference and the nodes of mluop_omp.

    Depends on:

        - OnnxLoadArgs
    """

    def get_name_opt_impl(self) -> tuple[str, str]:
        return "mluop_omp with onnx.reference", "mluop-omp"

    def add_to_script_impl(self, script: Any) -> None:
        script.add_import(imports=["EvaluatorRunner"], frm=__name__)
        model = self.arg_groups[OnnxLoadArgs].add_to_script(script)
        script.add_runner(make_invocable("EvaluatorRunner", model))


class _SessionArgs(BaseRunnerArgs):  # type: ignore[misc]
    """
    mluop_omp and ONNX-Runtime: running the graph with onnxruntime and the nodes of mluop_omp.

    Depends on:

        - OnnxLoadArgs
    """

    def get_name_opt_impl(self) -> tuple[str, str]:
        return "mluop_omp with ONNX-Runtime", "mluop-omp-onnxrt"

    def add_to_script_impl(self, script: Any) -> None:
        script.add_import(imports=["SessionOfNodes"], frm=__name__)
        script.add_import(imports=["OnnxrtRunner"], frm="polygraphy.backend.onnxrt")
        model = self.arg_groups[OnnxLoadArgs].add_to_script(script)
        loader = script.add_loader(make_invocable("SessionOfNodes", model), "mluop_omp_session")
        script.add_runner(make_invocable("OnnxrtRunner", loader))
