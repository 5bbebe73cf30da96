"""Carries the sites of sparse features between the nodes of a graph that onnxruntime runs.

The evaluator passes them on with the arrays. onnxruntime passes plain tensors: here, the sites are
kept by the name of the tensor, and tensors that element-wise nodes compute have the same sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mluop_omp.onnx._sites import Sites, SparseFeatures, attach
from mluop_omp.onnx._table import Node

if TYPE_CHECKING:
    import onnx

_ELEMENTWISE = (
    *("Add", "BatchNormalization", "Cast", "Clip", "Div", "Elu", "HardSigmoid", "Identity"),
    *("LeakyRelu", "Max", "Min", "Mul", "Neg", "Relu", "Sigmoid", "Sub", "Tanh"),
)
# In place of a tensor that a node has computed which is not element-wise.
_LOST = ""


class Flow:
    def __init__(self, model: onnx.ModelProto, table: Mapping[tuple[str, str], Node]) -> None:
        self._sites: dict[str, Sites | None] = {}
        # The tensors of nodes with a state that each tensor has the sites of.
        self._sources: dict[str, tuple[str, ...]] = {}
        for each in model.graph.node:
            node = table.get((each.domain, each.op_type))
            given = {name for e in each.input for name in self._sources.get(e, ())}
            for name in each.output:
                if node is not None and node.has_state:
                    self._sources[name] = (name,)
                elif given:
                    is_kept = each.domain == "" and each.op_type in _ELEMENTWISE
                    self._sources[name] = tuple(sorted(given)) if is_kept else (_LOST,)

    def begin(self) -> None:
        """Forgets the sites of the run before."""
        self._sites.clear()

    def keep(self, outputs: Mapping[str, np.ndarray]) -> None:
        for name, array in outputs.items():
            if name in self._sources and isinstance(array, SparseFeatures):
                self._sites[name] = array.sites

    def taken(self, name: str, array: np.ndarray) -> np.ndarray:
        """Returns an input of a node with its sites."""
        sources = self._sources.get(name, ())
        if not sources or sources == (name,) and name not in self._sites:
            return array
        known = [s for s in map(self._sites.get, sources) if s is not None]
        is_same = bool(known) and all(known[0].equal(each) for each in known[1:])
        if not is_same or _LOST in sources or len(array) != len(known[0].indices):
            # Without sites, which the node refuses.
            return array.view(SparseFeatures)
        return attach(array, known[0])
