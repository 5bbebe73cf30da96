"""Functions that `install()` and `no_cuda()` replace work at least as well afterwards.

Each replaced Python function has a row: its arguments, of any sizes, and changes that it refuses.
Each row is called in each situation: in a process without the replacements, and in one with them.
    - What ran before runs afterwards: equal shapes, element types, values and gradients.
    - What was refused before is refused afterwards, or has a value that DOCUMENTED lists. Other
      calls that failed before, such as calls without a CPU kernel, may have any outcome.

As a program: `test_install_table.py before|install|no_cuda short|long FILE` writes the outcomes.
The long program has more calls that torch.compile traces.
"""

from __future__ import annotations

import copy
import functools
import importlib
import itertools
import os
import pickle
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, NamedTuple

import cases
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires PyTorch")

import mluop_omp  # noqa: E402
from mluop_omp import _requirements  # noqa: E402

Arguments = tuple[Any, ...]
LIBRARIES = [name for name in ("mmcv", "spconv") if _requirements.missing(name) is None]


class Late(NamedTuple):
    """A function that is found when the libraries are imported and what is replaced is replaced."""

    find: Callable[[], Callable[..., Any]]


class Row(NamedTuple):
    function: Callable[..., Any] | Late
    arguments: Callable[..., Arguments]  # its parameters are the sizes
    refused: dict[str, Callable[..., Arguments]] = {}
    variants: dict[str, Callable[..., Arguments]] = {}  # other forms of arguments
    is_python: bool = True  # else a call may end the process, and nothing can trace it


def member(module: str, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def of(module: str, name: str) -> Late:
    return Late(lambda: member(module, name))


# The rows of mmcv, by function.


def attention(B=2, Q=5, M=2, D=4, L=2, P=3, H=7) -> Arguments:
    shapes = torch.tensor([[H, 6], [4, 3]][:L]).view(L, 2)
    value = cases.floats(B, int(shapes.prod(1).sum()), M, D)
    locations = cases.floats(B, Q, M, L, P, 2).sigmoid()
    return value, shapes, locations, cases.floats(B, Q, M, L, P).sigmoid()


def attention_module(B=2, Q=5, L=2) -> Arguments:
    value, shapes, locations, _ = attention(B, Q, 1, 16, L, 1)
    return cases.floats(B, Q, 16), value.flatten(2), locations[:, :, 0, :, 0], shapes


def attending() -> Callable[..., torch.Tensor]:
    torch.manual_seed(0)
    attention = member("mmcv.ops.multi_scale_deform_attn", "MultiScaleDeformableAttention")
    module = attention(16, 2, 2, 3, dropout=0.0, batch_first=True)
    dtypes = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
    modules = {dtype: copy.deepcopy(module).to(dtype) for dtype in dtypes}

    def attend(query, value, points, shapes) -> torch.Tensor:
        cells = shapes.prod(1)
        levels = {"spatial_shapes": shapes, "level_start_index": cells.cumsum(0) - cells}
        return modules[query.dtype](query, value=value, reference_points=points, **levels)

    return attend


def masked_conv(C=3, H=5, W=4, Co=2, k=3) -> Arguments:
    return cases.floats(1, C, H, W), torch.zeros(1, H, W), cases.floats(Co, C, k, k)


def convolving() -> Callable[..., torch.Tensor]:
    convolve = member("mmcv.ops.masked_conv", "masked_conv2d")
    return lambda x, mask, weight: convolve(x, mask, weight, x.new_ones(len(weight)), 1)


def without_floats(*arguments: Any) -> Arguments:
    return tuple(each.double().round().long() if is_number(each) else each for each in arguments)


ATTENTION = "mmcv.ops.multi_scale_deform_attn.multi_scale_deformable_attn_pytorch"
MMCV = {
    ATTENTION: Row(
        of("mmcv.ops.multi_scale_deform_attn", "multi_scale_deformable_attn_pytorch"),
        attention,
        {
            "fewer keys than pixels": lambda v, *rest: (v[:, 1:], *rest),
            "more keys than pixels": lambda v, *rest: (torch.cat((v, v), 1), *rest),
            "a level of negative sizes": lambda v, s, *rest: (v, torch.cat((-s[:1], s[1:])), *rest),
            "too few levels": lambda v, s, *rest: (v[:, :42], s[:1], *rest),
            "other heads": lambda v, *rest: (torch.cat((v, v), 2), *rest),
            "other images": lambda v, *rest: (v[:1], *rest),
            "shapes of floats": lambda v, s, *rest: (v, s.float(), *rest),
            "integers": without_floats,
            "three dimensions": lambda v, *rest: (v.flatten(2), *rest),
        },
        {
            "list": lambda v, s, *rest: (v, s.tolist(), *rest),
            "tuples": lambda v, s, *rest: (v, tuple(map(tuple, s.tolist())), *rest),
            "list of tensors": lambda v, s, *rest: (v, list(s), *rest),
            "list of lists of tensors": lambda v, s, *rest: (v, [list(row) for row in s], *rest),
            "NumPy": lambda v, s, *rest: (v, s.numpy(), *rest),
            "uint8": lambda v, s, *rest: (v, s.byte(), *rest),
            "weights of float32": lambda v, s, p, w: (v.bfloat16(), s, p.bfloat16(), w),
            "weights of float64": lambda v, s, p, w: (v, s, p, w.double()),
            "places outside": lambda v, s, p, w: (v, s, p * 4 - 2, w),
            "places of NaN": lambda v, s, p, w: (v, s, p * 2 - torch.nan, w),
        },
    ),
    "mmcv.ops.multi_scale_deform_attn.MultiScaleDeformableAttention": Row(
        Late(attending), attention_module
    ),
    "mmcv.ops.masked_conv.MaskedConv2dFunction": Row(Late(convolving), masked_conv),
}
# The replaced functions of mmcv that have no row: none of their calls runs before.
WITHOUT_KERNEL = tuple(
    f"mmcv.ops.{name}"
    for name in (
        *("carafe.CARAFENaiveFunction.backward", "prroi_pool.PrRoIPoolFunction.forward"),
        *("furthest_point_sample.FurthestPointSampling", "knn.KNN.forward"),
        *("points_in_boxes.points_in_boxes_all", "points_in_boxes.points_in_boxes_part"),
        *("sparse_ops.indice_conv", "sparse_ops.indice_maxpool"),
    )
)

# The rows of spconv. Sites of regular convolutions may have any order: outputs are dense.


def sparse(N=20, C=4, B=2, D=5) -> Arguments:
    space = (D, 4, 3)
    cells = B * D * 12
    sites = cases.sites(min(N, cells), B, space) if cells else torch.zeros(0, 4).int()
    return cases.floats(len(sites), C).abs() + 1, sites, [*space], B


def layer(name: str, *parameters: Any, training: bool = True, **named: Any) -> Callable[..., Any]:
    def call(features: torch.Tensor, sites: torch.Tensor, space: list[int], batches: int) -> Any:
        spconv = importlib.import_module("spconv.pytorch")
        torch.manual_seed(0)
        channels = (features.shape[1], 6) if "Conv" in name else ()
        module = getattr(spconv, name)(*channels, *parameters, **named)
        module = module.to(features.dtype).train(training)
        output = module(spconv.SparseConvTensor(features, sites, space, batches))
        return output.dense() if hasattr(output, "dense") else output

    return call


def inverse(features: torch.Tensor, sites: torch.Tensor, space: list[int], batches: int) -> Any:
    spconv = importlib.import_module("spconv.pytorch")
    torch.manual_seed(0)
    down = spconv.SparseConv3d(features.shape[1], 6, 3, 2, 1, bias=False, indice_key="a")
    up = spconv.SparseInverseConv3d(6, 4, 3, indice_key="a", bias=False)
    network = torch.nn.Sequential(down, up).to(features.dtype)
    return network(spconv.SparseConvTensor(features, sites, space, batches)).dense()


def rulebook(subm: bool, function: str = "get_indice_pairs") -> Callable[..., Any]:
    """Returns the connections of sites, ascending."""

    def call(sites: torch.Tensor, space: list[int], batches: int) -> torch.Tensor:
        ops = importlib.import_module("spconv.pytorch.ops")
        algorithm = importlib.import_module("spconv.core").ConvAlgo.Native
        ones, zeros, stride = [1] * 3, [0] * 3, [1 if subm else 2] * 3
        arguments = (sites, batches, space, algorithm, [3] * 3, stride, ones, ones, zeros, subm)
        found = getattr(ops, function)(*arguments)
        outputs, _, num = found[:3]
        # Pairs of submanifold convolutions may lack the second half.
        first = num[: len(num) // 2 if subm else None]
        return outputs[torch.argsort(outputs @ outputs.new_tensor([999, 99, 9, 1]))], first.sum()

    return call


def native(name: str) -> Callable[..., Any]:
    """Calls a function of spconv.pytorch.ops with the pairs that spconv finds."""
    forward = name.removesuffix("_backward")

    def call(features: torch.Tensor, sites: torch.Tensor, space: list[int], batches: int) -> Any:
        ops = importlib.import_module("spconv.pytorch.ops")
        algorithm = importlib.import_module("spconv.core").ConvAlgo.Native
        ones, zeros, twos, C = [1] * 3, [0] * 3, [2] * 3, features.shape[1]
        geometry = ([3] * 3, twos, ones, ones, zeros)
        outputs, pairs, num = ops.get_indice_pairs(sites, batches, space, algorithm, *geometry)
        order = torch.argsort(outputs @ outputs.new_tensor([999, 99, 9, 1]))
        filters = torch.linspace(0, 1, 6 * 27 * C).to(features.dtype).view(6, 3, 3, 3, C)
        operands = (features, filters) if "conv" in name else (features,)
        result = getattr(ops, forward)(*operands, pairs, num, len(outputs))
        if name == forward:
            return result[order]
        operands = operands if "conv" in name else (features, result)
        return getattr(ops, name)(*operands, torch.ones_like(result), pairs, num)

    return call


def pool_rows(sites: torch.Tensor, batches: int) -> Any:
    rows, counts = member("spconv.pytorch.ops", "global_pool_rearrange")(sites, batches)
    return counts, *(row[:count].sort()[0] for row, count in zip(rows, counts.tolist()))


def average(name: str) -> Callable[..., Any]:
    def call(features: torch.Tensor) -> Any:
        ops = importlib.import_module("spconv.pytorch.ops")
        pairs = torch.arange(len(features)).int().expand(2, -1).contiguous()
        if name.endswith("backward"):
            return getattr(ops, name)(features, pairs, torch.full((len(features),), 2).int())
        return getattr(ops, name)(features, pairs, len(features), True)

    return call


def voxels(empty_mean: bool) -> Callable[..., Any]:
    def call(points: torch.Tensor) -> Any:
        utils = importlib.import_module("spconv.pytorch.utils")
        channels = points.shape[1]
        generator = utils.PointToVoxel([1.0] * 3, [-2.0] * 3 + [2.0] * 3, channels, 30, 3)
        return generator.generate_voxel_with_id(points, True, empty_mean)

    return call


def in_spconv(function: Callable[..., Any], arguments: Callable[..., Arguments] = sparse) -> Row:
    refused = {"sites of floats": lambda *a: changed(a, is_integer, torch.Tensor.float)}
    return Row(function, arguments, refused if arguments is sparse else {}, is_python=False)


OPS, LAYERS = "spconv.pytorch.ops", "spconv.pytorch.conv.SparseConvolution"
SPCONV = {
    **{
        f"{OPS}.get_indice_pairs {subm}": in_spconv(
            rulebook(subm), lambda **sizes: sparse(**sizes)[1:]
        )
        for subm in (False, True)
    },
    f"{OPS}.get_indice_pairs_implicit_gemm": in_spconv(
        rulebook(False, "get_indice_pairs_implicit_gemm"), lambda **sizes: sparse(**sizes)[1:]
    ),
    **{
        f"{OPS}.{name}": in_spconv(native(name))
        for name in (
            *("indice_conv", "indice_conv_backward"),
            *("indice_maxpool", "indice_maxpool_backward"),
        )
    },
    f"{OPS}.global_pool_rearrange": in_spconv(pool_rows, lambda N=20, B=2: (sparse(N, B=B)[1], B)),
    **{
        f"{OPS}.{name}": in_spconv(average(name), lambda N=9, C=4: (cases.floats(N, C),))
        for name in ("indice_avgpool_implicit_gemm", "indice_avgpool_implicit_gemm_backward")
    },
    "spconv.pytorch.functional.SparseConvFunction": in_spconv(layer("SparseConv3d", 3, 2, 1)),
    "spconv.pytorch.functional.SubMConvFunction": in_spconv(layer("SubMConv3d", 3)),
    "spconv.pytorch.functional.SparseInverseConvFunction": in_spconv(inverse),
    f"{LAYERS}.__init__": in_spconv(
        layer("SubMConv2d", 3, bias=False),
        lambda N=9, C=4, B=2, D=5: (
            cases.floats(N, C),
            cases.sites(N, max(B, 1), (max(D, 1), 4)),
            [D, 4],
            B,
        ),
    ),
    "spconv.pytorch.conv.SparseConvolutionBase._conv_forward": in_spconv(
        layer("SubMConv3d", 3, bias=False, training=False)
    ),
    "spconv.pytorch.pool.SparseMaxPool.__init__": in_spconv(layer("SparseMaxPool3d", 3, 2, 1)),
    "spconv.pytorch.pool.SparseAvgPool": in_spconv(layer("SparseAvgPool3d", 3, 2, 1)),
    "spconv.pytorch.pool.SparseGlobalMaxPool": in_spconv(layer("SparseGlobalMaxPool")),
    **{
        f"spconv.pytorch.utils.PointToVoxel.generate_voxel_with_id {mean}": in_spconv(
            voxels(mean), lambda N=20, C=4: (cases.floats(N, C),)
        )
        for mean in (False, True)
    },
}

# PyTorch functions that `no_cuda` intercepts: functions with a device, Tensor.to, and one more.

CROSS_ENTROPY = "torch.nn.functional.binary_cross_entropy"


def cross_entropy(N=5, C=3) -> Arguments:
    rows = cases.floats(3, N, C).sigmoid()
    return rows[0].clone(), rows[1].clone(), rows[2].clone()


def entropy(**named: Any) -> Callable[..., Any]:
    return lambda *arguments: torch.nn.functional.binary_cross_entropy(*arguments, **named)


def created(device: Any) -> Callable[..., Any]:
    d = {} if device is None else {"device": device}

    def create(x: torch.Tensor) -> list[torch.Tensor]:
        return [
            *(torch.zeros(x.shape, **d), torch.full(x.shape, 2.0, **d), torch.arange(3, **d)),
            *(torch.linspace(0, 1, x.shape[0], **d), torch.eye(x.shape[0], **d)),
            *(torch.tensor([1.0, 2.0], **d), torch.as_tensor([1, 2], **d)),
            *(torch.zeros_like(x, **d), x.new_ones((2, x.shape[0]), **d)),
            *(x.to(**(d or {"dtype": torch.float64})), torch.randperm(4, **d).sort()[0]),
        ]

    return create


ENTROPY_REFUSED = {
    "another shape": lambda i, t, w: (i, t[:, :1], w),
    "input outside of 0 to 1": lambda i, t, w: (i + 2, t, w),
    "target outside of 0 to 1": lambda i, t, w: (i, t + 2, w),
    "target below 0": lambda i, t, w: (i, t - 2, w),
    "target of integers": lambda i, t, w: (i, t.long(), w),
}
NO_CUDA = {
    **{
        # Arguments are checked before the reduction: two reductions show what is refused.
        f"{CROSS_ENTROPY} {named}": Row(entropy(**named), cross_entropy, refused)
        for named, refused in (
            *(({}, ENTROPY_REFUSED), ({"reduction": "none"}, ENTROPY_REFUSED)),
            *(({"reduction": "sum"}, {}), ({"size_average": False}, {}), ({"reduce": False}, {})),
        )
    },
    f"{CROSS_ENTROPY} unweighted": Row(
        lambda input, target: entropy()(input, target), lambda **s: cross_entropy(**s)[:2]
    ),
    **{
        f"torch.zeros, ... on {device}": Row(
            created(device), lambda N=4, C=3: (cases.floats(N, C),)
        )
        for device in (None, "cpu", torch.device("cpu"), "meta")
    },
    "torch.Tensor.to": Row(
        lambda x: [
            *(x.to("cpu"), x.to("cpu", torch.float64), x.to(torch.float16), x.cpu()),
            *(x.to(torch.zeros(1, dtype=torch.float64)), x.to("cpu", non_blocking=True, copy=True)),
            *(x.to("meta"), x.to(device="cpu", memory_format=torch.preserve_format)),
        ],
        lambda N=4, C=3: (cases.floats(N, C),),
    ),
    "torch.nn.Module.to": Row(
        lambda x: torch.nn.Linear(3, 2).to("cpu").to(x.dtype).cpu().weight.numel() * x,
        lambda N=4, C=3: (cases.floats(N, C),),
    ),
}
OF_LIBRARIES = {"mmcv": MMCV, "spconv": SPCONV}
INSTALL = {name: row for library in LIBRARIES for name, row in OF_LIBRARIES[library].items()}
TABLES = {"before": {**INSTALL, **NO_CUDA}, "install": INSTALL, "no_cuda": NO_CUDA}
# Other outcomes than before, by row and situation.
DOCUMENTED = {
    # docs/python.md: the loss of CUDA.
    CROSS_ENTROPY: ["target outside of 0 to 1", "target below 0"],
    # A sample at NaN is not used, as by mmcv's kernels for GPUs; grid_sample returns NaN.
    ATTENTION: ["places of NaN"],
    # mluop_omp.spconv: convolutions compute the type of autocast.
    **dict.fromkeys(
        (f"{OPS}.indice_conv", "spconv.pytorch.functional", "spconv.pytorch.conv"), ["autocast"]
    ),
    # mluop_omp.spconv: the places past the points hold their mean.
    "spconv.pytorch.utils.PointToVoxel.generate_voxel_with_id True": [""],
}


# Situations.


def is_number(value: Any) -> bool:
    return torch.is_tensor(value) and value.is_floating_point()


def is_integer(value: Any) -> bool:
    return torch.is_tensor(value) and not value.is_floating_point()


def changed(
    arguments: Arguments, which: Callable[..., bool], change: Callable[..., Any]
) -> Arguments:
    return tuple(change(each) if which(each) else each for each in arguments)


def strided(tensor: torch.Tensor) -> torch.Tensor:
    return torch.stack((tensor, torch.zeros_like(tensor)), -1)[..., 0]


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def sizes_of(row: Row) -> list[str]:
    return list(row.arguments.__code__.co_varnames[: row.arguments.__code__.co_argcount])


def tensors_of(output: Any) -> list[torch.Tensor]:
    if torch.is_tensor(output):
        return [output]
    if isinstance(output, (list, tuple)):
        return [tensor for each in output for tensor in tensors_of(each)]
    return []


def stored(tensors: Iterator[torch.Tensor | None]) -> list[Any]:
    """Returns element type, shape and values of each tensor."""

    def of_one(each: torch.Tensor) -> tuple[str, tuple[int, ...], Any]:
        has_values = type(each) in (torch.Tensor, torch.nn.Parameter) and not each.is_meta
        values = each.detach().double().numpy() if has_values else None
        return str(each.dtype), tuple(map(int, each.shape)), values

    return [None if each is None else of_one(each) for each in tensors]


Outcome = tuple[str, Any]


def attempt(call: Callable[[], list[torch.Tensor | None]]) -> Outcome:
    try:
        return "ran", stored(call())
    except Exception as error:  # Whatever a library raises.
        return type(error).__name__, (isinstance(error, RuntimeError), str(error)[:300])


def values_and_gradients(
    function: Callable[..., Any], arguments: Arguments, variables: Any = None
) -> Iterator[tuple[str, Outcome]]:
    arguments = changed(arguments, is_number, lambda each: each.detach())
    inputs = [each for each in arguments if is_number(each)]
    inputs = [each for i, each in enumerate(inputs) if variables is None or i in variables]
    for each in inputs:
        each.requires_grad_()
    outputs: list[torch.Tensor] = []

    def value() -> list[torch.Tensor]:
        outputs.extend(tensors_of(function(*arguments)))
        return outputs

    yield "value", attempt(value)

    def gradient() -> list[torch.Tensor | None]:
        results = [each for each in outputs if each.requires_grad]
        weights = [torch.linspace(0.5, 2, max(each.numel(), 1))[: each.numel()] for each in results]
        weights = [w.view(each.shape).to(each) for w, each in zip(weights, results)]
        return torch.autograd.grad(results, inputs, weights, allow_unused=True)

    if any(each.requires_grad for each in outputs):
        yield "gradient", attempt(gradient)


class Module(torch.nn.Module):
    """The function of the tensors of the arguments."""

    def __init__(self, function: Callable[..., Any], arguments: Arguments) -> None:
        super().__init__()
        self.function, self.constants = function, arguments

    def tensors(self) -> Arguments:
        return tuple(each for each in self.constants if torch.is_tensor(each))

    def forward(self, *tensors: torch.Tensor) -> Any:
        rest = iter(tensors)
        arguments = [next(rest) if torch.is_tensor(each) else each for each in self.constants]
        return self.function(*arguments)


def exported(function: Callable[..., Any], arguments: Arguments, strict: bool = False) -> Any:
    module = Module(function, arguments)
    program = torch.export.export(module, module.tensors(), strict=strict)
    return program.module()(*module.tensors())


def compiled(function: Callable[..., Any], arguments: Arguments, **options: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(function, backend="aot_eager", **options)(*arguments)


def fake(function: Callable[..., Any], arguments: Arguments) -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        return function(*changed(arguments, torch.is_tensor, mode.from_tensor))


def batched(function: Callable[..., Any], arguments: Arguments, count: int = 3) -> Any:
    dims = tuple(0 if is_number(each) else None for each in arguments)
    stack = changed(arguments, is_number, lambda t: torch.stack((t, 2 * t, t / 2))[:count])
    return torch.vmap(lambda *a: tensors_of(function(*a))[0], in_dims=dims)(*stack)


def scripted(function: Callable[..., Any], arguments: Arguments) -> Any:
    module = Module(function, arguments)
    tensors = module.tensors()
    return torch.jit.trace(module, tensors, check_trace=False)(*tensors)


def of_numbers(function: Callable[..., Any], arguments: Arguments) -> tuple[Any, Arguments]:
    """Returns the first result as a function of the tensors of numbers, and these."""

    def first_result(*values: torch.Tensor) -> torch.Tensor:
        rest = iter(values)
        return tensors_of(function(*changed(arguments, is_number, lambda _: next(rest))))[0]

    return first_result, tuple(filter(is_number, arguments))


def reverse_mode(function: Callable[..., Any], arguments: Arguments) -> Any:
    result, numbers = of_numbers(function, arguments)
    positions = tuple(range(len(numbers)))
    return torch.func.grad(lambda *values: result(*values).sum(), positions)(*numbers)


def forward_mode(function: Callable[..., Any], arguments: Arguments) -> Any:
    result, numbers = of_numbers(function, arguments)
    return torch.func.jvp(result, numbers, numbers)


def under_autocast(function: Callable[..., Any], *dtypes: torch.dtype) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if not dtypes:
            return function(*arguments)
        with torch.autocast("cpu", dtypes[0]):
            return under_autocast(function, *dtypes[1:])(*arguments)

    return call


TRACED: dict[str, Callable[..., Any]] = {
    "export": exported,
    "export, strict": functools.partial(exported, strict=True),
    "full graph": functools.partial(compiled, fullgraph=True),
    "full graph, dynamic": functools.partial(compiled, fullgraph=True, dynamic=True),
    "compile": compiled,
    "fake": fake,
    "vmap": batched,
    "vmap of an empty batch": functools.partial(batched, count=0),
    "torch.jit.trace": scripted,
    "torch.func.grad": reverse_mode,
    "torch.func.jvp": forward_mode,
}
# What one trace by torch.compile shows for most calls.
LONG = ("export, strict", "full graph, dynamic", "compile")
BFLOAT16, HALF = torch.bfloat16, torch.float16
AUTOCAST = {
    "autocast": (BFLOAT16,),
    "autocast to half": (HALF,),
    "nested autocast": (BFLOAT16, HALF),
}


def situations(row: Row) -> Iterator[tuple[str, Callable[..., Any], Arguments]]:
    """Yields name, function and arguments of each call with gradients."""
    arguments, function = row.arguments(), row.function
    yield "plain", function, arguments
    for size in sizes_of(row):
        yield f"{size} = 0", function, row.arguments(**{size: 0})
    for dtype in (torch.float64, HALF, BFLOAT16):
        rounded = changed(arguments, is_number, lambda t, dtype=dtype: t.to(dtype))
        yield str(dtype), function, rounded
        first, *rest = rounded
        yield f"{dtype} first", function, (first, *arguments[1:])
        if dtype is not torch.float64:
            for name, types in AUTOCAST.items():
                yield f"{name} of {dtype}", under_autocast(function, *types), rounded
    for name, types in AUTOCAST.items():
        yield name, under_autocast(function, *types), arguments
    for dtype in (torch.int64, torch.int32, torch.int16):
        integers = changed(arguments, is_integer, lambda t, dtype=dtype: t.to(dtype))
        yield str(dtype), function, integers
    for name, which, change in (
        ("strided", torch.is_tensor, strided),
        ("transposed", torch.is_tensor, transposed),
        ("meta", torch.is_tensor, lambda t: t.to("meta")),
        ("meta numbers", is_number, lambda t: t.to("meta")),
    ):
        yield name, function, changed(arguments, which, change)
    for name, variant in row.variants.items():
        yield name, function, variant(*arguments)
    for name, refuse in row.refused.items():
        yield f"refused: {name}", function, refuse(*arguments)


def is_lower(arguments: Arguments) -> bool:
    return any(is_number(each) and each.dtype in (HALF, BFLOAT16) for each in arguments)


def in_double(function: Callable[..., Any], arguments: Arguments) -> Iterator[tuple[str, Outcome]]:
    """Yields what lower precision rounds: outcomes of the same numbers."""
    if is_lower(arguments):
        double = changed(arguments, is_number, torch.Tensor.double)
        for part, outcome in values_and_gradients(function, double):
            yield f"{part} in double", outcome


Call = Callable[[], Iterator[tuple[str, Outcome]]]


def cells(row: Row, is_long: bool, with_double: bool) -> Iterator[tuple[str, Call]]:
    """Yields each situation and its call."""
    for name, function, arguments in situations(row):

        def call(function=function, arguments=arguments) -> Iterator[tuple[str, Outcome]]:
            yield from values_and_gradients(function, arguments)
            if with_double:
                yield from in_double(function, arguments)

        yield name, call
    arguments = row.arguments()
    numbers = sum(map(is_number, arguments))
    for i in range(numbers if numbers > 1 else 0):
        call = functools.partial(values_and_gradients, row.function, arguments, {i})
        yield f"gradient of {i}", call
    if not row.is_python:
        return
    forms = {
        "": arguments,
        **{f", {size} = 0": row.arguments(**{size: 0}) for size in sizes_of(row)},
        **{
            f", {name}": given
            for name, each in row.variants.items()
            if (given := each(*arguments)) and not is_lower(given)
        },
        **{f", refused: {name}": each(*arguments) for name, each in row.refused.items()},
    }
    for (name, trace), (form, given) in itertools.product(TRACED.items(), forms.items()):
        if form and name not in (("fake", "vmap", "full graph") if is_long else ("fake", "vmap")):
            continue
        if name in LONG and not is_long:
            continue

        def traced(trace=trace, given=given) -> Iterator[tuple[str, Outcome]]:
            yield "value", attempt(lambda: tensors_of(trace(row.function, given)))

        yield f"{name}{form}", traced


Outcomes = dict[tuple[str, str, str], Outcome]


def outcomes_of(name: str, each: list[tuple[str, Call]]) -> Outcomes:
    found = {}
    for situation, call in each:
        torch.manual_seed(0)
        for part, outcome in call():
            found[name, situation, part] = outcome
        assert torch.is_grad_enabled(), (name, situation)
    return found


def in_child(name: str, each: list[tuple[str, Call]]) -> Outcomes:
    """Returns the outcomes in a process of its own, whose end one of the calls may be."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with open(write, "wb") as file:
            file.write(pickle.dumps(outcomes_of(name, each)))
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    if data:
        return pickle.loads(data)
    if len(each) == 1:
        return {(name, each[0][0], "value"): ("ended the process", (False, ""))}
    halves = each[: len(each) // 2], each[len(each) // 2 :]
    return {**in_child(name, halves[0]), **in_child(name, halves[1])}


def outcomes(table: dict[str, Row], is_long: bool, with_double: bool) -> Outcomes:
    found = {}
    for name, row in table.items():
        if isinstance(row.function, Late):
            row = row._replace(function=row.function.find())
        compute = outcomes_of if row.is_python else in_child
        found |= compute(name, list(cells(row, is_long, with_double)))
    return found


# The replaced functions.


def members(prefixes: tuple[str, ...]) -> dict[tuple[str, str], Any]:
    """Returns the members of the modules and their classes, by owner and name."""
    found = {}
    for module, each in list(sys.modules.items()):
        if not isinstance(each, types.ModuleType) or not module.startswith(prefixes):
            continue
        for name, value in list(vars(each).items()):
            found[module, name] = value
            if isinstance(value, type) and value.__module__ == module:
                for attribute, member in list(vars(value).items()):
                    found[f"{module}.{name}", attribute] = member
    return found


def name_of(place: tuple[str, str], original: Any) -> str:
    """Returns the name of a function, or of the class of an autograd function that it applies."""
    owner = getattr(original, "__self__", None)
    if isinstance(owner, type):
        original = owner
    module = getattr(original, "__module__", place[0])
    return f"{module}.{getattr(original, '__qualname__', place[1])}"


def replaced_by(replace: Callable[[], Any], prefixes: tuple[str, ...]) -> dict[str, Any]:
    """Returns the Python functions that are replaced, and what replaces each."""
    before = members(prefixes)
    replace()
    found = {}
    for place, value in members(prefixes).items():
        # A method may be inherited before.
        inherited = vars(value).get("original") if isinstance(value, types.FunctionType) else None
        original = before.get(place, inherited or value)
        if original is value or place[0] == "mmcv._ext" or not callable(value):
            continue
        if getattr(original, "__module__", "").startswith("mluop_omp"):
            continue  # An extension module of this package.
        if isinstance(original, staticmethod):
            original = original.__func__
        found[name_of(place, original)] = original, value
    return found


def prepare(library: str) -> None:
    """Imports what is replaced. mmcv's modules require its extension, which is a stand-in here."""
    if library == "mmcv":
        importlib.import_module("mluop_omp.mmcv")._extension()
        importlib.import_module("mmcv.ops")
    if library == "spconv":
        for module in ("conv", "functional", "ops", "pool", "utils"):
            importlib.import_module(f"spconv.pytorch.{module}")


def calls(functions: dict[str, tuple[Any, Any]]) -> dict[str, list[Outcome]]:
    """Returns the outcomes of originals and replacements without an argument, and with one."""
    return {
        f"{name}{arguments}": [
            attempt(lambda f=function, a=arguments: [torch.as_tensor(f(*a) or 0)])
            for function in pair
        ]
        for name, pair in functions.items()
        for arguments in ((), (0,))
    }


def program(kind: str, length: str, file: str) -> None:
    torch.set_num_threads(1)
    for library in LIBRARIES:
        prepare(library)
    replaced: dict[str, Any] = {}
    if kind == "install":
        replaced = dict.fromkeys(
            replaced_by(mluop_omp.install, (*LIBRARIES, "torch", "mmengine", "mmdet"))
        )
    if kind == "no_cuda":
        replaced = calls(replaced_by(mluop_omp.no_cuda, ("torch",)))
    found = outcomes(TABLES[kind], length == "long", with_double=kind == "before")
    Path(file).write_bytes(pickle.dumps((replaced, found)))


# The comparison.


@pytest.fixture(scope="module", params=["short", pytest.param("long", marks=pytest.mark.long)])
def processes(request, tmp_path_factory) -> dict[str, tuple[dict[str, Any], dict]]:
    """Returns what is replaced and the outcomes of each kind of process."""
    folder, running = tmp_path_factory.mktemp("outcomes"), {}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_LOGS": "-all"}
    for kind in TABLES:
        arguments = kind, request.param, str(folder / kind)
        command = [sys.executable, "-W", "ignore", __file__, *arguments]
        running[kind] = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
    found = {}
    for kind, process in running.items():
        _, text = process.communicate(timeout=900)
        assert process.returncode == 0, text.decode()[-2000:]
        found[kind] = pickle.loads((folder / kind).read_bytes())
    return found


def ran(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome[0] == "ran"


def difference(found: list[Any], expected: list[Any], double: list[Any] | None) -> str | None:
    """Returns in what the tensors are worse than expected, whose values in double may be known."""
    if len(found) != len(expected):
        return f"{len(found)} tensors, expected {len(expected)}"
    for i, (a, e) in enumerate(zip(found, expected)):
        if e is None or a is None:  # No gradient is a gradient of 0.
            if e is not None and e[2] is not None and e[2].any():
                return f"no tensor {i}"
            continue
        if a[:2] != e[:2] or (a[2] is None) != (e[2] is None):
            return f"tensor {i} is {a[:2]}, expected {e[:2]}"
        if a[2] is None or np.array_equal(a[2], e[2], equal_nan=True):
            continue
        error, scale = np.abs(a[2] - e[2]).max(), np.abs(e[2]).max()
        if double is not None and double[i] is not None:
            right = double[i][2]
            error = np.abs(a[2] - right).max() - np.abs(e[2] - right).max()
        if not error <= TOLERANCES.get(a[0], 0) * scale:
            return f"tensor {i} differs by {error}, of {scale}"
    return None


TOLERANCES = {"torch.float64": 1e-12, "torch.float32": 1e-5}
TOLERANCES |= {"torch.float16": 2e-3, "torch.bfloat16": 1e-2}


def verdict(
    key: tuple[str, str, str], before: dict, after: dict, documented: Callable[..., bool]
) -> str | None:
    """Returns why an outcome is worse than before; None if it is not."""
    row, situation, part = key
    if documented(row, situation):
        return None
    expected, found = before.get(key), after.get(key)
    if ran(expected):
        if situation in ("strided", "transposed"):  # spconv reads them as if they were dense.
            expected = before[row, "plain", part]
        if not ran(found):
            return f"{found}, ran before"
        double = before.get((row, situation, f"{part} in double"))
        return difference(found[1], expected[1], double[1] if ran(double) else None)
    if not situation.startswith("refused") and ", refused" not in situation:
        return None
    # Refused arguments, which tracing may leave to the program that it makes.
    if ran(found):
        return f"ran, before {expected}" if not situation.startswith("fake") else None
    return None if expected is None or found[1][0] >= expected[1][0] else f"{found}, {expected}"


def is_documented(row: str, situation: str) -> bool:
    return any(
        row.startswith(name) and any(each in situation for each in texts)
        for name, texts in DOCUMENTED.items()
    )


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("install", "no_cuda") for name in TABLES[kind]]
)
def test_nothing_is_worse(kind, name, processes, record_property):
    (_, before), (_, after) = processes["before"], processes[kind]
    keys = [key for key in {**before, **after} if key[0] == name and "in double" not in key[2]]
    verdicts = {key: verdict(key, before, after, is_documented) for key in keys}
    # Cells, those that ran before, and those that ran afterwards.
    counts = [len(keys), *(sum(ran(each.get(key)) for key in keys) for each in (before, after))]
    record_property("install counts", counts)
    assert not {key[1:]: text for key, text in verdicts.items() if text}


def test_every_replaced_function_has_a_row(processes):
    replaced = processes["install"][0]
    assert len(replaced) > 20 or len(LIBRARIES) < 2
    rows = TABLES["install"]
    without_row = [name for name in replaced if not any(row.startswith(name) for row in rows)]
    assert all(name.startswith(WITHOUT_KERNEL) for name in without_row)


def test_replaced_functions_of_torch(processes):
    """Functions that run without a GPU, such as empty_cache, keep their results."""
    replaced = processes["no_cuda"][0]
    assert len(replaced) > 20
    assert not [
        name for name, (before, after) in replaced.items() if ran(before) and not ran(after)
    ]


@pytest.mark.skipif("mmcv" not in LIBRARIES, reason="requires mmcv")
def test_kernels_for_cpus_of_a_full_mmcv():
    """The tests do not have a full mmcv. Its kernels that compute float64 remain."""
    mmcv = importlib.import_module("mluop_omp.mmcv")
    assert mmcv._CPU_KERNELS.keys() <= mmcv.FUNCTIONS.keys()
    remain = (
        *("active_rotated_filter", "bezier_align", "deform_conv", "modulated_deform_conv"),
        *("nms_rotated", "roi_align", "rotated_feature_align"),
    )
    for name, dtypes in mmcv._CPU_KERNELS.items():
        assert (torch.float64 in dtypes) != name.startswith(remain)


@pytest.mark.skipif("mmcv" not in LIBRARIES, reason="requires mmcv")
def test_results_of_nothing():
    """What the CPU kernels of a full mmcv return without boxes or points; see test_table.py."""
    mmcv = importlib.import_module("mluop_omp.mmcv").FUNCTIONS
    nothing, integers = torch.zeros(0, 4), torch.zeros(0, 4, dtype=torch.int32)
    assert mmcv["nms_match"](torch.zeros(0, 5), 0.5) == []
    no_quads = torch.zeros(0, 8), torch.zeros(0), torch.zeros(0).long(), torch.zeros(0, 8)
    kept = mmcv["nms_quadri"](*no_quads, 0.5, False)
    assert kept.shape == (0,) and kept.dtype is torch.int64
    mmcv["points_in_boxes_cpu_forward"](torch.zeros(0, 7), torch.zeros(4, 3), integers)
    mmcv["dynamic_voxelize_forward"](nothing, torch.ones(3), torch.arange(6.0), integers[:, :3])
    outputs = torch.ones(7, 3, 4), torch.ones(7, 3).int(), torch.ones(7).int(), torch.tensor(9)
    mmcv["hard_voxelize_forward"](nothing, torch.ones(3), torch.arange(6.0), *outputs, 3, 7)
    grad, no_rois = torch.ones(1, 2, 5, 5), (torch.zeros(0, 2, 2, 2), torch.zeros(0, 5))
    numbers = 2, 2, 1.0, 0, 1, True
    mmcv["roi_align_backward"](*no_rois, torch.zeros(0), torch.zeros(0), grad, *numbers)
    assert not any(each.any() for each in (*outputs, grad))


if __name__ == "__main__":
    program(*sys.argv[1:])
