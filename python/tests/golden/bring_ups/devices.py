"""Right devices: the same model computed in another way, which no instrument may call wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import types
from collections.abc import Iterator
from typing import Any, Callable

import torch
from networks import Network
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

import mluop_omp

Context = Callable[[], contextlib.AbstractContextManager]
DEVICES: dict[str, Callable[[Network], Device | None]] = {}


@dataclasses.dataclass
class Device:
    """A model as a device computes it.

    Attributes:
        dtype: the element type to which the device rounds its inputs.
        weights: the element type to which the weights of the reference are rounded too. Weights
            that a device fuses before it rounds them have no rounded counterpart.
        is_half: whether the device computes in half precision.
        context: surrounds the recording.
        warm_up: the number of calls before the one to compare, in the same recording.
        names: how the user maps names to the names of the reference.
    """

    model: nn.Module
    inputs: tuple
    dtype: torch.dtype = torch.float32
    weights: torch.dtype = torch.float32
    is_half: bool = False
    context: Context = contextlib.nullcontext
    warm_up: int = 0
    names: dict[str, str] | None = None


def device(name: str) -> Callable[[Callable], Callable]:
    def add(make: Callable) -> Callable:
        DEVICES[name] = make
        return make

    return add


def override(module: nn.Module, forward: Callable) -> None:
    """Replaces the forward of one module: forward(right, *args), right computes as before."""
    before = module.forward.__func__

    def replaced(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return forward(functools.partial(before, self), self, *args, **kwargs)

    module.forward = types.MethodType(replaced, module)


def as_type(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(as_type(each, dtype) for each in value)
    return value


@device("eager")
def eager(net: Network) -> Device:
    return Device(net.model, net.inputs)


def half(net: Network, dtype: torch.dtype) -> Device:
    if net.with_autocast:
        context = functools.partial(torch.autocast, "cpu", dtype)
        return Device(net.model, net.inputs, is_half=True, context=context)
    model, inputs = net.model.to(dtype), as_type(net.inputs, dtype)
    return Device(model, inputs, dtype, dtype, is_half=True)


@device("bf16")
def bf16(net: Network) -> Device:
    return half(net, torch.bfloat16)


@device("fp16")
def fp16(net: Network) -> Device:
    return half(net, torch.float16)


@device("autocast")
def autocast(net: Network) -> Device:
    context = functools.partial(torch.autocast, "cpu", torch.bfloat16)
    return Device(net.model, net.inputs, is_half=True, context=context)


SPARSE = "SubMConv3d", "SparseConv3d"


def pairs(model: nn.Module) -> Iterator[tuple[str, nn.Module, str, str]]:
    """Yields the containers, and in them the names of convolutions and their BatchNorms."""
    for name, module in model.named_modules():
        children = list(module.named_children())
        for (conv, first), (norm, second) in zip(children, children[1:]):
            if type(first) in (nn.Conv2d, nn.ConvTranspose2d):
                is_pair = isinstance(second, nn.BatchNorm2d)
            else:
                is_sparse = type(first).__name__ in SPARSE
                is_pair = is_sparse and isinstance(second, nn.BatchNorm1d)
            if is_pair and second.num_features == first.out_channels:
                yield name, module, conv, norm


def fuse_sparse(conv: nn.Module, norm: nn.BatchNorm1d) -> None:
    """Fuses a normalization into a convolution of mmcv, filters [..., Cin, Cout]."""
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    bias = 0 if conv.bias is None else conv.bias
    conv.weight.data *= scale
    conv.bias = nn.Parameter((bias - norm.running_mean) * scale + norm.bias, requires_grad=False)


def fuse(model: nn.Module) -> nn.Module:
    for _, module, conv, norm in list(pairs(model)):
        first, second = getattr(module, conv), getattr(module, norm)
        if type(first).__name__ in SPARSE:
            fuse_sparse(first, second)
        else:
            is_transposed = isinstance(first, nn.ConvTranspose2d)
            setattr(module, conv, fuse_conv_bn_eval(first, second, transpose=is_transposed))
        activation = getattr(second, "act", None)  # of timm's BatchNormAct2d
        setattr(module, norm, nn.Identity() if activation is None else activation)
    return model


@device("fused")
def fused(net: Network) -> Device:
    return Device(fuse(net.model), net.inputs)


@device("fused bf16")
def fused_bf16(net: Network) -> Device:
    made = half(dataclasses.replace(net, model=fuse(net.model)), torch.bfloat16)
    return dataclasses.replace(made, weights=torch.float32)


@device("fused, without ReLU")
def fused_away(net: Network) -> Device:
    """BatchNorm and a ReLU behind it leave Sequentials: the numbers of later modules change."""
    fuse(net.model)
    for module in list(net.model.modules()):
        if type(module) is not nn.Sequential:
            continue
        kept: list[nn.Module] = []
        for child in module:
            if kept and type(kept[-1]) is nn.Conv2d and type(child) in (nn.ReLU, nn.ReLU6):
                activation = F.relu6 if type(child) is nn.ReLU6 else F.relu
                override(kept[-1], lambda right, self, x, f=activation: f(right(x)))
            elif not isinstance(child, nn.Identity):
                kept.append(child)
        if len(kept) < len(module):
            for name in list(module._modules):
                del module._modules[name]
            for number, child in enumerate(kept):
                module.add_module(str(number), child)
    return Device(net.model, net.inputs)


@device("other thread count")
def threads(net: Network) -> Device:
    @contextlib.contextmanager
    def two_threads() -> Iterator[None]:
        count, own = torch.get_num_threads(), mluop_omp.threads()
        torch.set_num_threads(2)
        mluop_omp.threads(2)
        try:
            yield
        finally:
            torch.set_num_threads(count)
            mluop_omp.threads(own)

    return Device(net.model, net.inputs, context=two_threads)


def unfolded(right: Callable, conv: nn.Conv2d, x: torch.Tensor) -> torch.Tensor:
    if conv.padding_mode != "zeros" or isinstance(conv.padding, str):
        return right(x)
    kernel, dilation, padding, stride = conv.kernel_size, conv.dilation, conv.padding, conv.stride
    columns = F.unfold(x, kernel, dilation, padding, stride).unflatten(1, (conv.groups, -1))
    weight = conv.weight.flatten(1).unflatten(0, (conv.groups, -1))
    out = (weight.flip(-1) @ columns.flip(2)).flatten(1, 2)
    extents = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(x.shape[2:], padding, dilation, kernel, stride)
    ]
    out = out.unflatten(-1, extents)
    return out if conv.bias is None else out + conv.bias[:, None, None]


def by_blocks(right: Callable, linear: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    blocks = zip(x.split(16, -1), linear.weight.split(16, -1))
    out = sum(part @ weight.mT for part, weight in blocks)
    return out if linear.bias is None else out + linear.bias


@device("other order of sums")
def sums(net: Network) -> Device:
    for module in net.model.modules():
        if type(module) is nn.Conv2d:
            override(module, unfolded)
        elif type(module) is nn.Linear:
            override(module, by_blocks)
    return Device(net.model, net.inputs)


@device("DataParallel")
def parallel(net: Network) -> Device:
    class Wrapper(nn.Module):
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, *args: Any) -> Any:
            return self.module(*args)

    return Device(Wrapper(net.model).eval(), net.inputs)


@device("renamed")
def renamed(net: Network) -> Device | None:
    """The first container has another name in the tree; its code uses the old one."""
    for name, child in net.model.named_children():
        if list(child.children()) and not isinstance(child, nn.ModuleList):
            children = net.model._modules
            net.model._modules = {("trunk" if k == name else k): v for k, v in children.items()}
            net.model.__dict__[name] = child
            return Device(net.model, net.inputs)
    return None


class Chain(nn.Module):
    def __init__(self, parts: nn.Sequential) -> None:
        super().__init__()
        for name, part in parts.named_children():
            self.add_module(name, part)

    def forward(self, x: Any) -> Any:
        for part in self.children():
            x = part(x)
        return x


@device("list, not Sequential")
def chains(net: Network) -> Device | None:
    found = False
    for module in list(net.model.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Sequential and type(module) not in (nn.Sequential, Chain):
                chain = Chain(child).eval()
                module._modules[name] = chain
                found = True
    return Device(net.model, net.inputs) if found else None


@device("warm-up call")
def warm_up(net: Network) -> Device:
    return Device(net.model, net.inputs, warm_up=1)


@device("channels_last")
def channels_last(net: Network) -> Device | None:
    if any(each.dim() == 5 for each in net.model.parameters()):
        return None
    net.model.to(memory_format=torch.channels_last)
    inputs = tuple(
        x.to(memory_format=torch.channels_last) if isinstance(x, torch.Tensor) else x
        for x in net.inputs
    )
    return Device(net.model, inputs)


@device("voxels in another order")
def permuted_voxels(net: Network) -> Device | None:
    layers = [m for m in net.model.modules() if type(m).__name__ == "VoxelizationByGridShape"]

    def permute(module: nn.Module, args: tuple, output: Any) -> Any:
        rows = torch.randperm(len(output[0]), generator=torch.Generator().manual_seed(3))
        return tuple(each[rows] for each in output)

    for layer in layers:
        layer.register_forward_hook(permute)
    return Device(net.model, net.inputs) if layers else None


@device("branches in another order")
def branches(net: Network) -> Device | None:
    found = False
    for module in net.model.modules():
        kind = type(module).__name__
        if (
            kind == "BasicBlock"
            and getattr(module, "downsample", None)
            and hasattr(module, "conv1")
        ):
            override(module, _downsample_first)
            found = True
        elif kind == "SSDHead":
            override(module, _classes_first)
            found = True
    return Device(net.model, net.inputs) if found else None


def _downsample_first(right: Callable, block: nn.Module, x: torch.Tensor) -> torch.Tensor:
    downsample, own = block.downsample, block._modules
    identity = downsample(x)
    block._modules = {**own, "downsample": Ready(identity)}
    try:
        return right(x)
    finally:
        block._modules = own


class Ready(nn.Module):
    def __init__(self, value: torch.Tensor) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.value


def _classes_first(right: Callable, head: nn.Module, x: Any) -> dict[str, torch.Tensor]:
    classes = head.classification_head(x)
    return {"bbox_regression": head.regression_head(x), "cls_logits": classes}
