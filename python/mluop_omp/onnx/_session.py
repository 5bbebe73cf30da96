"""Runs a graph with onnxruntime; the Python operators of onnxruntime-extensions are the nodes.

onnxruntime-extensions 0.15 has these limits, which `session` works around:

- Its operators live in one domain and have fixed element types: each plugin node is replaced by an
  operator of that domain that has the types of the node's tensors.
- float16 ends the process ("Type float16 not supported by python customops api"). A Cast to
  float32 before and after the operator changes no value.
- An input that a graph leaves out is refused ("input 1 is marked single but has an empty string"):
  the operator has the other inputs only.
- An exception in an operator ends the process. It is kept, and raised at the end of the run.
- Attributes are numbers and strings only. The operator has one, the number of its node.

Outputs are converted to lists of numbers and back, which is slow for large tensors.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from mluop_omp import _requirements
from mluop_omp._library import not_supported
from mluop_omp.onnx._element_types import element_types, graphs_of, is_of_onnx, type_code
from mluop_omp.onnx._flow import Flow
from mluop_omp.onnx._references import coordinates, imported
from mluop_omp.onnx._state import State
from mluop_omp.onnx._table import Node, by_domain, run

if TYPE_CHECKING:
    import onnx
    import onnxruntime

    from mluop_omp.onnx._references import Model

# Element types that onnxruntime-extensions does not pass to Python.
_SHORT = ("float16",)
_KEY = "node"
# The functions of the nodes of all sessions by number, and the operators by their types.
_functions: dict[int, Callable[..., Any]] = {}
_operators: dict[str, Any] = {}
_numbers = itertools.count()
_lock = threading.Lock()


def session(
    model: Model,
    indices: np.ndarray | None = None,
    spatial_shape: Sequence[int] | None = None,
    batch_size: int | None = None,
    *,
    options: onnxruntime.SessionOptions | None = None,
    **others: Any,
) -> onnxruntime.InferenceSession:
    """Returns an InferenceSession of onnxruntime that runs a model with the nodes.

    Inputs and outputs have the names of the model. Nodes of ONNX are computed by onnxruntime, on
    the CPU unless `providers` are given.

    Args:
        model: a file, its bytes, or the ModelProto, which is not changed.
        indices, spatial_shape, batch_size: see `references`.
        options: the settings of onnxruntime, to which the operators are added.
        others: further arguments of InferenceSession.

    Raises:
        MluOpError: the element type of an input of a node is unknown or not supported. `run` raises
            it as the evaluator does.
        ImportError: onnx, onnxruntime or onnxruntime-extensions is not installed.
    """
    for package in ("onnx", "onnxruntime", "onnxruntime_extensions"):
        _requirements.require(package)
    import onnxruntime
    from onnxruntime_extensions import get_library_path

    rewritten = imported(model)
    computations = _Computations(rewritten, coordinates(indices, spatial_shape, batch_size))
    computations.rewrite(rewritten)
    if options is None:
        options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(get_library_path())
    others.setdefault("providers", ["CPUExecutionProvider"])
    created = _session_class()(rewritten.SerializeToString(), options, **others)
    created.computations = computations
    weakref.finalize(created, computations.forget)
    return created


class _Computations:
    """The plugin nodes of one session."""

    def __init__(self, model: onnx.ModelProto, state: State) -> None:
        self._table, self._state = by_domain(), state
        self._types = element_types(model, self._table)
        self._flow = Flow(model, self._table)
        self._own: list[int] = []
        self._failure: BaseException | None = None
        self._lock = threading.RLock()

    def forget(self) -> None:
        for number in self._own:
            _functions.pop(number, None)

    def guarded(self, compute: Callable[[], Any]) -> Any:
        """Calls onnxruntime, and raises what a node has raised."""
        with self._lock:
            self._flow.begin()
            try:
                return self._completed(compute)
            finally:
                self._flow.begin()
                # Its traceback has the session, which must not outlive onnxruntime.
                self._failure = None

    def _completed(self, compute: Callable[[], Any]) -> Any:
        try:
            results = compute()
        except Exception as error:
            if self._failure is None:
                raise
            raise self._failure from error
        if self._failure is not None:
            raise self._failure
        return results

    def rewrite(self, model: onnx.ModelProto) -> None:
        """Replaces the plugin nodes of a model by Python operators."""
        import onnx

        for graph in graphs_of(model):
            rewritten = [part for each in graph.node for part in self._rewritten(each)]
            del graph.node[:]
            graph.node.extend(rewritten)
            # onnxruntime infers them: an exporter may have stated others than the nodes return.
            del graph.value_info[:]
        outputs = [onnx.ValueInfoProto(name=each.name) for each in model.graph.output]
        del model.graph.output[:]
        model.graph.output.extend(outputs)
        if all(each.domain != _domain() for each in model.opset_import):
            model.opset_import.append(onnx.helper.make_opsetid(_domain(), 1))

    def _rewritten(self, each: onnx.NodeProto) -> list[onnx.NodeProto]:
        from onnx.helper import make_node

        node = self._table.get((each.domain, each.op_type))
        if node is None:
            return [each]
        names = [name for name in each.input if name]
        types = [self._type(each, name) for name in names]
        if is_of_onnx(each, types):
            return [each]
        number = next(_numbers)
        results = [self._types[n] if n else t for n, t in self._outputs(each, node, types)]
        outputs = [name or f"{number}.unused{k}" for k, name in enumerate(each.output)]
        casts, own = _cast(names, types, f"{number}.input", to_short=False)
        back, own_outputs = _cast(outputs, results, f"{number}.output", to_short=True)
        operator = _operator(
            *(["float32" if t in _SHORT else t for t in e] for e in (types, results))
        )
        _functions[number] = self._function(each, node, types, results)
        self._own.append(number)
        options = {"name": each.name, "domain": _domain(), _KEY: number}
        return [*casts, make_node(operator, own, own_outputs, **options), *back]

    @staticmethod
    def _outputs(each: onnx.NodeProto, node: Node, types: list[str]) -> list[tuple[str, str]]:
        from mluop_omp.onnx._element_types import output_types

        known = output_types(node, types)
        if len(each.output) > len(known):
            raise not_supported(
                f"{each.op_type}: {len(each.output)} outputs in the graph, expected {len(known)}"
            )
        return list(zip(each.output, known))

    def _type(self, each: onnx.NodeProto, name: str) -> str:
        if name not in self._types:
            raise not_supported(
                f"{each.op_type}: the element type of input {name} is unknown, expected one that "
                "onnx.shape_inference finds"
            )
        kind = self._types[name]
        if kind == "bfloat16":
            raise not_supported(f"{each.op_type}: input {name} has dtype bfloat16")
        return kind

    def _function(
        self, each: onnx.NodeProto, node: Node, types: list[str], results: list[str]
    ) -> Callable[..., Any]:
        """Returns what computes a node of the graph."""
        from onnx.helper import get_attribute_value

        attributes = {a.name: get_attribute_value(a) for a in each.attribute}
        inputs, outputs = list(each.input), list(each.output)

        def compute(*arrays: np.ndarray) -> list[np.ndarray]:
            given = (a.astype(kind, copy=False) for a, kind in zip(arrays, types))
            values = [self._flow.taken(name, next(given)) if name else None for name in inputs]
            computed = run(node, values, attributes, self._state)[: len(outputs)]
            if len(computed) < len(outputs):
                raise not_supported(
                    f"{node.name}: {len(outputs)} outputs in the graph, expected {len(computed)}"
                )
            self._flow.keep(dict(zip(outputs, computed)))
            for name, array, kind in zip(outputs, computed, results):
                if array.dtype.name != kind:
                    raise not_supported(
                        f"{node.name}: output {name} has dtype {array.dtype}, expected {kind}"
                    )
            return computed

        def guarded(*arrays: np.ndarray) -> Any:
            empty = [np.zeros(0, kind) for kind in results]
            computed = empty
            if self._failure is None:
                try:
                    computed = compute(*arrays)
                except BaseException as error:  # It would end the process.
                    self._failure, computed = error, empty
            plain = [np.asarray(e, np.float32 if e.dtype == np.float16 else None) for e in computed]
            return tuple(plain) if len(plain) > 1 else plain[0]

        return guarded


def _cast(
    names: Sequence[str], types: Sequence[str], prefix: str, *, to_short: bool
) -> tuple[list[onnx.NodeProto], list[str]]:
    """Returns nodes that cast tensors of short types, and the names of the others' side."""
    from onnx.helper import make_node

    casts, own = [], []
    for k, (name, kind) in enumerate(zip(names, types)):
        if kind not in _SHORT:
            own.append(name)
            continue
        own.append(f"{prefix}{k}")
        ends = (own[-1], name) if to_short else (name, own[-1])
        to = type_code(kind if to_short else "float32")
        casts.append(make_node("Cast", [ends[0]], [ends[1]], to=to))
    return casts, own


def _domain() -> str:
    from onnxruntime_extensions import default_opset_domain

    return str(default_opset_domain())


def _operator(inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """Returns the name of a Python operator with these element types. It is never removed."""
    from onnxruntime_extensions import Opdef, PyCustomOpDef

    name = "_".join(("MluopOmpNode", *inputs, "to", *outputs))

    def compute(*arrays: np.ndarray, **attributes: Any) -> Any:
        return _functions[int(attributes[_KEY])](*arrays)

    with _lock:
        if name not in _operators:
            kinds: Mapping[str, Any] = {
                "inputs": list(map(type_code, inputs)),
                "outputs": list(map(type_code, outputs)),
                "attrs": {_KEY: PyCustomOpDef.dt_int64},
            }
            _operators[name] = Opdef.create(compute, op_type=name, **kinds)
    return name


def _session_class() -> Any:
    import onnxruntime

    class Session(onnxruntime.InferenceSession):  # type: ignore[misc]
        computations: _Computations

        def run(self, *arguments: Any, **options: Any) -> Any:
            base = super().run
            return self.computations.guarded(lambda: base(*arguments, **options))

        def run_with_ort_values(self, *arguments: Any, **options: Any) -> Any:
            base = super().run_with_ort_values
            return self.computations.guarded(lambda: base(*arguments, **options))

    return Session
