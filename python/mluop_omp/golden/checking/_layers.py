"""Checks of the layers of MinkowskiEngine and torchsparse.

Their operators take managers and caches, so calls of the layers are repeated here instead: sums,
averages and maxima over the index pairs of the sites that a layer was given and returned. The order
of rows is thus open, and the output sites are the device's. Gradients are not checked.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor, nn

from mluop_omp._library import not_supported
from mluop_omp.golden.checking._calls import HALF_TYPES, Call, Copies, Findings, Rule
from mluop_omp.golden.checking._differences import exact, sums
from mluop_omp.golden.comparison._values import sparse_sites
from mluop_omp.minkowski import RegionType, region_offsets
from mluop_omp.torch import site_maps

# The columns of batch and coordinates of fine sites, of coarse sites, and the offsets between them.
_Geometry = tuple[Tensor, Tensor, Tensor]


def _pairs(fine: Tensor, coarse: Tensor, offsets: Tensor, transposed: bool) -> site_maps.KernelMap:
    found = site_maps.kernel_map(fine, coarse, offsets)
    return site_maps.exchanged(found) if transposed else found


def _convolution(
    features: Tensor,
    filters: Tensor,
    bias: Tensor | None,
    fine: Tensor,
    coarse: Tensor,
    offsets: Tensor,
    transposed: bool,
) -> Tensor:
    pairs = _pairs(fine, coarse, offsets, transposed)
    output = site_maps.convolve(features, filters.view(len(offsets), *filters.shape[-2:]), pairs)
    return output if bias is None else output + bias.view(1, -1)


def _pool(pool: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def pooled(
        features: Tensor, fine: Tensor, coarse: Tensor, offsets: Tensor, transposed: bool
    ) -> Tensor:
        return pool(features, _pairs(fine, coarse, offsets, transposed))

    return pooled


def _maxima(call: Call) -> Findings:
    """Judges maxima; a window without an input may have any value."""
    features = call.given["features"]
    ones = {**call.given, "features": features.new_ones(len(features), 1, dtype=torch.float32)}
    is_empty = _pool(site_maps.sum_pool)(**ones)[:, 0] == 0
    found, expected = call.found["output"], call.expected["output"]
    if found.shape == expected.shape:
        call.expected["output"] = torch.where(is_empty[:, None], found, expected.to(found.dtype))
    return exact(call)


def _terms(call: Call) -> int:
    channels = call.given["filters"].shape[-2] if "filters" in call.given else 1
    return len(call.given["offsets"]) * int(channels)


def _rule(name: str, ours: Callable[..., Tensor], judge: Callable[[Call], Findings]) -> Rule:
    axes = {"results": ("output",), "axes": "row channel"}
    return Rule(name, ours, judge, widened=judge is sums, terms=_terms, **axes)  # type: ignore[arg-type]


# By class name.
RULES = {
    **{
        name: _rule(name, _convolution, sums)
        for name in (
            *("MinkowskiConvolution", "MinkowskiConvolutionTranspose"),
            *("MinkowskiGenerativeConvolutionTranspose", "Conv3d"),
        )
    },
    **{
        name: _rule(name, _pool(site_maps.sum_pool), sums)
        for name in ("MinkowskiSumPooling", "MinkowskiPoolingTranspose")
    },
    "MinkowskiAvgPooling": _rule("MinkowskiAvgPooling", _pool(site_maps.average_pool), sums),
    "MinkowskiMaxPooling": _rule("MinkowskiMaxPooling", _pool(site_maps.max_pool), _maxima),
}


def rule_of(layer: nn.Module) -> tuple[Rule, bool] | None:
    """Returns the rule of a layer, and whether it is this library's; None for other modules."""
    for kind in type(layer).__mro__:
        library, _, rest = kind.__module__.partition(".")
        if kind.__name__ not in RULES:
            continue
        if library == "mluop_omp":
            is_known = rest.startswith(("minkowski", "torchsparse"))
            return (RULES[kind.__name__], True) if is_known else None
        # MinkowskiEngine's files are top-level modules.
        if library.startswith("Minkowski") or library == "torchsparse":
            return RULES[kind.__name__], False
    return None


def _batch_first(value: Any) -> Tensor:
    sites = sparse_sites(value)
    assert sites is not None
    found: Tensor = sites.batch_first().to("cpu", torch.int32, copy=True)
    return found


def _of_minkowski(layer: Any, input: Any, output: Any) -> _Geometry:
    generator, fine = layer.kernel_generator, output if layer.is_transpose else input
    kernel, dilation, strides = (
        [int(each) for each in sizes]
        for sizes in (generator.kernel_size, generator.kernel_dilation, fine.tensor_stride)
    )
    region = getattr(generator.region_type, "name", str(generator.region_type))
    if min(strides) < 1:
        raise not_supported(f"the tensor stride is {strides}, expected at least 1")
    # The window of a pool with as long a stride is a cell.
    has_cells = kernel == [int(each) for each in generator.kernel_stride]
    if has_cells and not hasattr(layer, "kernel"):
        offsets = site_maps.cube_offsets(kernel, True, [0] * len(kernel), strides)
    elif region in ("HYPER_CUBE", "HYPER_CROSS"):
        offsets = region_offsets(RegionType[region], kernel, dilation, strides).clone()
    else:
        raise not_supported(f"region_type is {region}, expected HYPER_CUBE or HYPER_CROSS")
    sites = [_batch_first(each) for each in (input, output)]
    return (*(sites[::-1] if layer.is_transpose else sites), offsets)  # type: ignore[return-value]


def _window(kernel: list[int], lowest: list[int], steps: list[int]) -> Tensor:
    """Returns the offsets of torchsparse: x is fastest if their number is odd, else z."""
    return site_maps.cube_offsets(kernel, all(size % 2 for size in kernel), lowest, steps)


def _of_torchsparse(layer: Any, input: Any, output: Any) -> _Geometry:
    sites = [_batch_first(each) for each in (input, output)]
    fine, coarse = sites[::-1] if layer.transposed else sites
    kernel, steps = ([int(each) for each in sizes] for sizes in (layer.kernel_size, layer.stride))
    centers, ones = [-((size - 1) // 2) for size in kernel], [1, 1, 1]
    if not hasattr(input, "_caches"):
        strides = (output if layer.transposed else input).stride
        return fine, coarse, _window(kernel, centers, [int(each) for each in strides])
    if getattr(layer, "generative", False):
        raise not_supported("generative layers of torchsparse are not checked")
    config = getattr(layer, "config", None) or {}
    coarse[:, 1:] *= torch.tensor(steps, dtype=torch.int32)
    is_hashmap = config.get("kmap_mode", "hashmap_on_the_fly") == "hashmap"
    if is_hashmap or (max(steps) == 1 and all(size % 2 for size in kernel)):
        return fine, coarse, _window(kernel, centers, ones)
    padding = [0, 0, 0] if max(steps) == 1 else [int(each) for each in layer.padding]
    return fine, coarse, _window(kernel, [-each for each in padding], ones)


def call_of(rule: Rule, layer: Any, input: Any, output: Any, copies: Copies) -> Call:
    """Returns the call of a layer, copied to the CPU."""
    is_minkowski = hasattr(layer, "kernel_generator")
    geometry = (_of_minkowski if is_minkowski else _of_torchsparse)(layer, input, output)
    given: dict[str, Any] = {"features": copies.of(input.F)}
    if rule.ours is _convolution:
        given.update(filters=copies.of(layer.kernel), bias=copies.of(layer.bias))
    found = copies.of(output.F)
    if found.dtype in HALF_TYPES:  # Under autocast, factors are rounded first.
        given = {
            name: each if each is None or name == "bias" else each.to(found.dtype)
            for name, each in given.items()
        }
    given.update(zip(("fine", "coarse", "offsets"), geometry))
    given["transposed"] = layer.is_transpose if is_minkowski else layer.transposed
    return Call(rule, given, {"output": found})


def describe(findings: Findings, output: Any) -> None:
    """Names the sites of the worst rows."""
    sites = _batch_first(output)
    worst = getattr(findings.differences.get("output"), "worst", ())
    rows = list(dict.fromkeys(each.index[0] for each in worst))
    texts = (f"row {row} is the site {tuple(sites[row].tolist())}" for row in rows)
    if rows:
        findings.notes.append(f"output: {', '.join(texts)}")
