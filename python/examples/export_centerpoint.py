#!/usr/bin/env python3
"""Exports CenterPoint's sparse backbone in Lidar_AI_Solution's form, and runs it on the CPU.

    python export_centerpoint.py centerpoint.scn.onnx [--checkpoint epoch_20.pth]

The backbone is mmdetection3d's SparseEncoder with spconv. The graph has the features of the voxels
as its only input, a node SparseConvolution for each layer, with its batch norm and its ReLU, Add
and Relu for each residual connection, and ScatterDense and Reshape at the end. Weights are float16.
Prints the largest difference between the graph in onnx.reference and the PyTorch model, relative to
the largest output. The PyTorch model has the weights of the graph and computes in float32.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterable, Sequence
from typing import Any

import mluop_omp

mluop_omp.install()

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
from mmdet3d.models.layers import SparseBasicBlock  # noqa: E402
from mmdet3d.models.middle_encoders import SparseEncoder  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from spconv.pytorch import SparseSequential  # noqa: E402
from spconv.pytorch.conv import SparseConvolution  # noqa: E402
from spconv.pytorch.ops import get_conv_output_size  # noqa: E402
from torch import nn  # noqa: E402

from mluop_omp.onnx import evaluator  # noqa: E402

SPACE = (41, 1440, 1440)
CHANNELS = ((16, 16, 32), (32, 32, 64), (64, 64, 128), (128, 128))
PADDINGS = ((0, 0, 1), (0, 0, 1), (0, 0, [0, 1, 1]), (0, 0))
Tensor = tuple[str, list[int]]  # A name and the spatial shape of its sites.


def backbone(space: Sequence[int] = SPACE, in_channels: int = 5) -> nn.Module:
    """Returns the encoder of mmdetection3d's CenterPoint, with random weights."""
    encoder = SparseEncoder(
        in_channels,
        list(space),
        order=("conv", "norm", "act"),
        encoder_channels=CHANNELS,
        encoder_paddings=PADDINGS,
        block_type="basicblock",
    )
    return encoder.eval()


def load(encoder: nn.Module, checkpoint: str) -> None:
    """Loads the weights that a detector of mmdetection3d has under pts_middle_encoder."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)["state_dict"]
    prefix = "pts_middle_encoder."
    own = {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}
    encoder.load_state_dict(own)


class Exporter:
    """The nodes and the weights of a graph. Tensors are numbered; "0" is the input."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._convolutions, self._stage = 0, 1

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Appends a node and returns its output."""
        number = len(self.nodes)
        output = str(number + 1)
        name = f"{kind.lower()}{number}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name, **attributes))
        return output

    def sequence(self, modules: Iterable[nn.Module], x: Tensor) -> Tensor:
        """Appends modules that are called one after another."""
        left = list(modules)
        while left:
            module = left.pop(0)
            if isinstance(module, SparseConvolution):
                norm = left.pop(0) if left and isinstance(left[0], nn.BatchNorm1d) else None
                relu = bool(left) and isinstance(left[0], nn.ReLU)
                del left[:relu]
                x = self.convolution(module, norm, x, relu)
            elif isinstance(module, SparseBasicBlock):
                x = self.block(module, x)
            elif isinstance(module, (nn.Sequential, SparseSequential)):
                x = self.sequence(module.children(), x)
            else:
                raise TypeError(f"a module of type {type(module).__name__} has no node")
        return x

    def block(self, block: nn.Module, x: Tensor) -> Tensor:
        y = self.convolution(block.conv1, block.norm1, x, True)
        y = self.convolution(block.conv2, block.norm2, y, False)
        same = x if block.downsample is None else self.sequence([block.downsample], x)
        added = self.node("Add", [y[0], same[0]])
        return self.node("Relu", [added]), y[1]

    def convolution(
        self, layer: nn.Module, norm: nn.Module | None, x: Tensor, relu: bool
    ) -> Tensor:
        """Appends a layer. Folds its batch norm, which is a bias afterwards."""
        bias = fold(layer, norm)
        (source, space), names = x, [f"spconv{self._convolutions}.{k}" for k in ("weight", "bias")]
        tensors = [layer.weight, *([] if bias is None else [bias])]
        for name, tensor in zip(names, tensors):
            self.weights.append(numpy_helper.from_array(tensor.detach().half().numpy(), name))
        self._convolutions += 1
        geometry = layer.kernel_size, layer.stride, layer.padding, layer.dilation
        out = space if layer.subm else get_conv_output_size(space, *geometry)
        # The submanifold layers of a stage have the same sites, so they share a rulebook.
        key = layer.indice_key or (f"subm{self._stage}" if layer.subm else "")
        self._stage += not layer.subm
        output = self.node(
            "SparseConvolution",
            [source, *names[: len(tensors)]],
            ndim=layer.ndim,
            input_spatial_shape=space,
            output_spatial_shape=out,
            in_channels=layer.in_channels,
            out_channels=layer.out_channels,
            kernel_size=layer.kernel_size,
            output_bound=200000,
            stride=layer.stride,
            dilation=layer.dilation,
            padding=layer.padding,
            transposed=layer.transposed,
            inverse=layer.inverse,
            output_padding=layer.output_padding,
            groups=layer.groups,
            subm=layer.subm,
            rulebook=key,
            activation="ReLU" if relu else "None",
        )
        return output, list(out)


@torch.no_grad()
def fold(layer: nn.Module, norm: nn.Module | None) -> torch.Tensor | None:
    """Moves the scale of a batch norm into the layer's weights and rounds both to float16.

    Returns the bias, which the batch norm adds afterwards; without a batch norm, the layer's own.
    """
    if norm is None:
        layer.weight.copy_(layer.weight.half())
        return layer.bias
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    bias = norm.bias - norm.running_mean * scale
    if layer.bias is not None:
        bias = bias + layer.bias * scale
        layer.bias.zero_()
    layer.weight.copy_((layer.weight * scale.view(-1, 1, 1, 1, 1)).half())
    norm.running_mean.zero_()
    norm.running_var.fill_(1 - norm.eps)
    norm.weight.fill_(1)
    norm.bias.copy_(bias.half())
    return norm.bias


def export(encoder: nn.Module) -> tuple[onnx.ModelProto, nn.Module]:
    """Returns the graph, and a copy of the encoder that has the graph's weights."""
    folded, exporter = copy.deepcopy(encoder), Exporter()
    layers = folded.conv_input, folded.encoder_layers, folded.conv_out
    x, space = exporter.sequence(layers, ("0", list(folded.sparse_shape)))
    C, (D, H, W) = folded.output_channels, space
    shape = {"input_spatial_shape": space, "format": "zyx", "output_shape": [1, C, D, H, W]}
    dense = exporter.node("ScatterDense", [x], **shape)
    output = exporter.node("Reshape", [dense], dims=[1, C * D, H, W])
    sizes = {"0": ["voxels", folded.in_channels], output: [1, C * D, H, W]}
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT16, s) for n, s in sizes.items()]
    graph = helper.make_graph(exporter.nodes, "scn", infos[:1], infos[1:], exporter.weights)
    opsets = [helper.make_opsetid("", 11)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), folded


def cloud(
    space: Sequence[int] = SPACE, count: int = 2000, in_channels: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    """Returns random features of voxels about the middle of the grid, and their coordinates."""
    rng = np.random.default_rng(0)
    sizes = [min(size, 30) for size in space]
    cells = rng.permutation(int(np.prod(sizes)))[:count]
    low = [(size - part) // 2 for size, part in zip(space, sizes)]
    sites = np.stack(np.unravel_index(cells, sizes), 1) + low
    indices = np.pad(sites, ((0, 0), (1, 0))).astype(np.int32)
    return rng.standard_normal((count, in_channels)).astype(np.float16), indices


@torch.no_grad()
def compare(model: onnx.ModelProto, folded: nn.Module, space: Sequence[int]) -> None:
    """Prints differences between the graph, with features of two types, and PyTorch in float32."""
    features, indices = cloud(space)
    expected = folded(torch.from_numpy(features).float(), torch.from_numpy(indices), 1).numpy()
    for dtype in (np.float16, np.float32):
        run = evaluator(model, indices, space).run
        (found,) = run(None, {"0": features.astype(dtype)})
        difference = np.abs(found - expected).max() / np.abs(expected).max()
        print(f"{found.dtype} {list(found.shape)}: largest difference {difference:.2g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", help="the file of the graph")
    parser.add_argument("--checkpoint", help="a detector of mmdetection3d; default: random weights")
    parser.add_argument("--space", type=int, nargs=3, default=SPACE, help="the cells along z, y, x")
    options = parser.parse_args()
    torch.manual_seed(0)
    encoder = backbone(options.space)
    if options.checkpoint:
        load(encoder, options.checkpoint)
    model, folded = export(encoder)
    onnx.save(model, options.output)
    compare(onnx.load(options.output), folded, options.space)


if __name__ == "__main__":
    main()
