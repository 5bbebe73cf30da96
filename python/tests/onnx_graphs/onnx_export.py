"""Models of PyTorch as graphs with plugin nodes, by PyTorch's exporter of traces."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence

import onnx
import torch


def exported(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    input_names: Sequence[str],
    output_names: Sequence[str],
    domains: Sequence[str],
    opset: int = 11,
) -> onnx.ModelProto:
    """Returns the graph of a module.

    Functions with a static method `symbolic` become the nodes that it writes, in these domains.
    """
    file = io.BytesIO()
    with warnings.catch_warnings():
        # The exporter of traces is deprecated; the exporters of the libraries use it.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            inputs,
            file,
            input_names=list(input_names),
            output_names=list(output_names),
            opset_version=opset,
            custom_opsets={domain: 1 for domain in domains},
            dynamo=False,
        )
    return onnx.load_model_from_string(file.getvalue())


def nodes(model: onnx.ModelProto, domain: str) -> list[str]:
    return [node.op_type for node in model.graph.node if node.domain == domain]
