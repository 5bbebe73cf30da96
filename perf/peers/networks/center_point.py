"""CenterPoint's sparse middle encoder, forward or forward and backward."""

from collections.abc import Callable

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

# An encoder: layers, sites and features -> features and sites of the output.
Encode = Callable[[], tuple[torch.Tensor, torch.Tensor]]


class _Layer:
    def __init__(self, row: list[int]) -> None:
        self.channels = row[:2]
        self.kernel, self.stride, self.padding = row[2:5], row[5:8], row[8:11]
        self.is_submanifold, self.is_residual = map(bool, row[11:])


def _layers(inputs: Inputs) -> list[_Layer]:
    return [_Layer(row) for row in inputs["layers"].view(-1, 13).tolist()]


def _out_space(space: list[int], kernel: list[int], stride: list[int], padding: list[int]) -> list[int]:
    return [(extent + 2 * p - k) // s + 1 for extent, p, k, s in zip(space, padding, kernel, stride)]


def _run(inputs: Inputs, parameters: list[torch.Tensor], encode: Encode) -> Callable[[], Outputs]:
    """The gradient of the output is one everywhere. parameters: features, filters of the layers."""
    training = bool(inputs["training"].item())

    def run() -> Outputs:
        with torch.set_grad_enabled(training):
            output, sites = encode()
        if not training:
            return output, sites
        return output.detach(), sites, *torch.autograd.grad(output, parameters, torch.ones_like(output))

    return run


def _leaf(inputs: Inputs, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().requires_grad_(bool(inputs["training"].item()))


def ours(inputs: Inputs) -> Peer:
    layers = _layers(inputs)
    features = _leaf(inputs, inputs["features"])
    filters = [_leaf(inputs, inputs[f"filters{i}"]) for i in range(len(layers))]

    def encode() -> tuple[torch.Tensor, torch.Tensor]:
        x, before, sites = features, features, inputs["indices"]
        batches, *space = inputs["grid"].tolist()
        has_pairs = False
        for layer, layer_filters in zip(layers, filters):
            # All submanifold layers of a level have the same kernel.
            if not (layer.is_submanifold and has_pairs):
                geometry = layer.kernel, layer.stride, layer.padding
                sites, *pairs = mt.indice_pairs(sites, batches, space, *geometry, (1, 1, 1), layer.is_submanifold)
                space = space if layer.is_submanifold else _out_space(space, *geometry)
                has_pairs = layer.is_submanifold
            sums = mt.indice_conv(x, layer_filters, *pairs, len(sites), layer.is_submanifold)
            before, x = x, torch.relu(sums + before if layer.is_residual else sums)
        return x, sites

    return Peer("ours", _run(inputs, [features, *filters], encode))


def _spconv(inputs: Inputs) -> list[Peer]:
    """spconv's layers for CPUs. Empty if spconv is not installed."""
    try:
        from spconv.core import ConvAlgo
        from spconv.pytorch import SparseConv3d, SparseConvTensor, SubMConv3d, ops
    except ImportError:
        return []
    # The backward pass asks for the stream of CUDA on CPUs, too.
    ops.get_current_stream = lambda: 0
    layers = _layers(inputs)
    features = _leaf(inputs, inputs["features"])
    batches, *space = inputs["grid"].tolist()
    modules, level = [], 0
    for i, layer in enumerate(layers):
        arguments = *layer.channels, layer.kernel, layer.stride, layer.padding
        if layer.is_submanifold:
            module = SubMConv3d(*arguments, bias=False, indice_key=f"level{level}", algo=ConvAlgo.Native)
        else:
            module = SparseConv3d(*arguments, bias=False, algo=ConvAlgo.Native)
            level += 1
        # Filters of spconv are [Co, D, H, W, Ci].
        weights = inputs[f"filters{i}"].permute(4, 0, 1, 2, 3).contiguous()
        module.weight = torch.nn.Parameter(weights)
        modules.append(module)

    def encode() -> tuple[torch.Tensor, torch.Tensor]:
        x = before = SparseConvTensor(features, inputs["indices"], space, batches)
        for layer, module in zip(layers, modules):
            sums = module(x)
            residual = sums.features + before.features if layer.is_residual else sums.features
            before, x = x, sums.replace_feature(torch.relu(residual))
        return x.features, x.indices

    def canonical(outputs: Outputs) -> Outputs:
        output, sites, *gradients = outputs
        order = torch.arange(len(sites))
        for column in (3, 2, 1, 0):
            order = order[sites[order, column].sort(stable=True).indices]
        filters = (gradient.permute(1, 2, 3, 4, 0).contiguous() for gradient in gradients[1:])
        return output[order], sites[order], *gradients[:1], *filters

    run = _run(inputs, [features, *(module.weight for module in modules)], encode)
    # spconv has data races: with several threads, some elements are wrong.
    return [Peer("spconv, Native", run, idiomatic=True, canonical=canonical, may_differ=True)]


def peers(inputs: Inputs) -> list[Peer]:
    return _spconv(inputs)
