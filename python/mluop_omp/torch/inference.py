"""Faster inference: batch normalization folded into convolutions, channels last, bfloat16."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections import Counter, defaultdict
from typing import Any, Callable, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["Preparation", "prepare_for_inference"]

Run = Callable[[nn.Module], Any]


class _Layer(NamedTuple):
    """Where a layer has its weight, the weight its output channels, and the output its own."""

    weight: str
    channels: int
    rows: bool  # the output is [N, C]; else [N, C, ...], with as many dimensions as the weight


# By name, since the packages need not be installed. Subclasses have the rule of their class.
_LAYERS = {
    "torch.nn.modules.conv._ConvTransposeNd": _Layer("weight", 1, rows=False),
    "torch.nn.modules.conv._ConvNd": _Layer("weight", 0, rows=False),
    "torch.nn.modules.linear.Linear": _Layer("weight", 0, rows=True),
    "mmcv.ops.modulated_deform_conv.ModulatedDeformConv2d": _Layer("weight", 0, rows=False),
    "mmcv.ops.sparse_conv.SparseConvolution": _Layer("weight", -1, rows=True),
    "spconv.pytorch.conv.SparseConvolution": _Layer("weight", 0, rows=True),
    "mluop_omp.torch.sparse._SparseConvolution": _Layer("weight", -1, rows=True),
    "mluop_omp.minkowski._convolutions.MinkowskiConvolutionBase": _Layer("kernel", -1, rows=True),
    "mluop_omp.torchsparse._convolutions._Conv3d": _Layer("kernel", -1, rows=True),
}


@dataclasses.dataclass
class Preparation:
    """What `prepare_for_inference` made.

    Attributes:
        model: the prepared copy.
        folded: the names of convolution and normalization that became one layer.
        left: by name, the normalizations that were left as they are, and why; by "channels last",
            why tensors have them second.
        difference: the largest difference of an output of the copy from the same output of the
            model, divided by the largest absolute value of that output. NaN if shapes differ.
    """

    model: nn.Module
    folded: list[tuple[str, str]]
    left: dict[str, str]
    difference: float

    def __str__(self) -> str:
        lines = [f"folded: {len(self.folded)} normalizations into convolutions"]
        lines += [f"left: {name}: {reason}" for name, reason in self.left.items()]
        return "\n".join(
            [*lines, f"largest difference: {self.difference:.2g} of an output's maximum"]
        )


def prepare_for_inference(
    model: nn.Module,
    run: Run,
    *,
    dtype: torch.dtype = torch.float32,
    channels_last: bool = True,
    tolerance: float | None = 1e-4,
) -> Preparation:
    """Returns a copy of a model whose inference on a CPU takes less time.

    - Batch normalization is folded into the convolution before it: sparse (mmcv, spconv,
      MinkowskiEngine, torchsparse), dense, transposed, deformable or linear. It is folded if in the
      run each of its inputs is the output of one convolution, and nothing else reads that output.
      What that cannot be shown for is left as it is, and listed with the reason.
    - Weights of dense two-dimensional convolutions are stored with their channels last, and so are
      the images that they compute. If the run raises an exception then, they are not.
    - With dtype=torch.bfloat16, `forward` runs under torch.autocast: convolutions of images and
      linear layers compute in bfloat16.

    The names of modules and parameters stay, except a folded normalization: its module becomes an
    identity, and its convolution has the parameter `bias`. Folded parameters have no gradient.

    Args:
        model: in evaluation mode.
        run: calls the model it is given as it will be used, such as `lambda model: model(x)`, and
            returns the result. It is called once with the model and once with the copy.
        dtype: torch.float32 or torch.bfloat16.
        channels_last: whether dense convolutions compute with their channels last.
        tolerance: the largest difference that is accepted in float32. None accepts any, as for
            boxes whose selection depends on the last bit of a score.

    Raises:
        ValueError: the model, or a module of it, is in training mode; dtype is another one; the
            result of `run` has no tensor; or, in float32, the copy's differs by more than the
            tolerance, or has other shapes.
    """
    if dtype not in (torch.float32, torch.bfloat16):
        raise ValueError(f"dtype is {dtype}, expected torch.float32 or torch.bfloat16")
    training = [name or "model" for name, module in model.named_modules() if module.training]
    if training:
        raise ValueError(f"{training[0]} is in training mode, expected model.eval()")
    flow = _Flow(model)
    with torch.no_grad():
        expected = flow.observe(run)
    pairs, left = _pairs(model, flow)
    prepared = copy.deepcopy(model)
    for convolution, norm in pairs:
        _fold(prepared, convolution, norm)
    if dtype == torch.bfloat16:
        _autocast(prepared)
    if channels_last:
        _store(prepared, torch.channels_last)
    with torch.no_grad():
        try:
            found = _tensors(run(prepared))
        except Exception as error:
            if not channels_last:
                raise
            # The code of the model may require contiguous tensors.
            _store(prepared, torch.contiguous_format)
            found = _tensors(run(prepared))
            reason = f"run raises {type(error).__name__}: {error}"
            left["channels last"] = reason.splitlines()[0].rstrip(": ")
    difference = _difference(found, expected)
    if dtype == torch.float32 and tolerance is not None and not difference <= tolerance:
        what = f"differ by {difference:.2g} of their maximum"
        if _shapes(found) != _shapes(expected):
            what = f"have the shapes {_shapes(found)} instead of {_shapes(expected)}"
        raise ValueError(
            f"run returns values that {what} after folding, expected at most tolerance={tolerance}:"
            " the model does not compute the same twice, or selects by the last bits of a score"
        )
    return Preparation(prepared, pairs, left, difference)


class _Flow(TorchDispatchMode):
    """What reads the outputs of the convolutions of a model in a run."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._model = model
        self._stack: list[str] = []
        self._kept: list[Tensor] = []  # Else another tensor could get the memory of an output.
        self._producers: dict[int, str] = {}  # by the address of the memory
        self.calls: Counter[str] = Counter()  # of each convolution
        # By convolution, the modules that read its outputs.
        self.readers: dict[str, set[str]] = defaultdict(set)
        # By normalization, how often it read an output of each convolution; "" of no convolution.
        self.sources: dict[str, Counter[str]] = defaultdict(Counter)

    def observe(self, run: Run) -> list[Tensor]:
        """Returns the tensors of the result."""
        hooks = []
        for name, module in self._model.named_modules():
            hooks.append(module.register_forward_pre_hook(self._enter(name)))
            hooks.append(module.register_forward_hook(self._leave(name), always_call=True))
        try:
            with self:
                result = run(self._model)
        finally:
            for hook in hooks:
                hook.remove()
        tensors = _tensors(result)
        if not tensors:
            raise ValueError("run returns no tensor, expected the result of the model")
        for tensor in tensors:
            self._read(tensor, "the result")
        self._kept.clear()
        return [tensor.clone() for tensor in tensors]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        for leaf in tree_leaves((args, kwargs or {})):
            if isinstance(leaf, Tensor):
                self._read(leaf, self._stack[-1] if self._stack else "the run")
        return func(*args, **(kwargs or {}))

    def _read(self, tensor: Tensor, reader: str) -> None:
        producer = self._producers.get(_address(tensor))
        if producer is not None and producer != reader:
            self.readers[producer].add(reader)

    def _enter(self, name: str) -> Callable[..., None]:
        def hook(module: nn.Module, arguments: tuple) -> None:
            self._stack.append(name)
            inputs = [each for each in map(_features, arguments) if each is not None]
            if isinstance(module, _NORMS):
                self.sources[name].update(self._producers.get(_address(x), "") for x in inputs)
            elif next(module.children(), None) is None:
                # Kernels that are called by address have no dispatch.
                for each in inputs:
                    self._read(each, name)

        return hook

    def _leave(self, name: str) -> Callable[..., None]:
        def hook(module: nn.Module, arguments: tuple, output: Any) -> None:
            self._stack.pop()
            features, layer = _features(output), _layer_of(module)
            if features is None or layer is None:
                return
            self.calls[name] += 1
            # Else, as for one image without a batch, a normalization has other channels.
            if features.dim() == (2 if layer.rows else getattr(module, layer.weight).dim()):
                self._kept.append(features)
                self._producers[_address(features)] = name

        return hook


_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


def _address(tensor: Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # A tensor without storage, such as a sparse one.
        return 0


def _features(output: Any) -> Tensor | None:
    """The tensor, or the features of a sparse tensor of any of the libraries."""
    for name in ("features", "F", "feats"):
        output = getattr(output, name, output) if not isinstance(output, Tensor) else output
    return output if isinstance(output, Tensor) and output.numel() > 0 else None


def _tensors(result: Any) -> list[Tensor]:
    """The floating-point tensors of a result, in dataclasses, dictionaries and structures too."""
    found: list[Tensor] = []
    seen: set[int] = set()

    def visit(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, Tensor):
            if value.is_floating_point():
                found.append(value)
        elif isinstance(value, dict):
            for each in value.values():
                visit(each)
        elif isinstance(value, (list, tuple, set)):
            for each in value:
                visit(each)
        elif hasattr(value, "__dict__") and not isinstance(value, (type, nn.Module)):
            visit(vars(value))

    visit(result)
    return found


def _layer_of(module: nn.Module) -> _Layer | None:
    names = (f"{each.__module__}.{each.__qualname__}" for each in type(module).__mro__)
    return next((_LAYERS[name] for name in names if name in _LAYERS), None)


def _pairs(model: nn.Module, flow: _Flow) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Returns the convolutions and normalizations to fold, and why others are left."""
    modules = dict(model.named_modules())
    shared = _shared(model)
    pairs, left = [], {}
    for name, norm in modules.items():
        if not isinstance(norm, _NORMS):
            continue
        sources = flow.sources.get(name, Counter())
        source = next(iter(sources), "")
        if not sources:
            left[name] = "it does not run"
        elif norm.running_mean is None or norm.running_var is None:
            left[name] = "it has no running statistics"
        elif len(sources) > 1:
            left[name] = "it follows several convolutions"
        elif not source:
            left[name] = "it does not follow a convolution directly"
        elif flow.readers[source] != {name}:
            others = sorted(flow.readers[source] - {name})
            left[name] = f"the output of {source} is also read by {others[0] or 'the model'}"
        elif sources[source] != flow.calls[source]:
            left[name] = f"it reads {sources[source]} of {flow.calls[source]} outputs of {source}"
        elif {source, name} & shared:
            left[name] = "a parameter belongs to several modules"
        elif extended := [each for each in (source, name) if _is_extended(modules[each])]:
            left[name] = f"{extended[0]} has a parametrization or hooks"
        else:
            pairs.append((source, name))
    return pairs, left


def _shared(model: nn.Module) -> set[str]:
    """The modules with a parameter that another one has too."""
    owners = defaultdict(set)
    for name, module in model.named_modules(remove_duplicate=False):
        for parameter in module.parameters(recurse=False):
            owners[id(parameter)].add(name)
    return {name for names in owners.values() if len(names) > 1 for name in names}


def _is_extended(module: nn.Module) -> bool:
    hooks = module._forward_hooks or module._forward_pre_hooks
    return bool(hooks) or nn.utils.parametrize.is_parametrized(module)


def _fold(model: nn.Module, convolution_name: str, norm_name: str) -> None:
    convolution, norm = model.get_submodule(convolution_name), model.get_submodule(norm_name)
    layer = _layer_of(convolution)
    assert layer is not None
    weight, bias = getattr(convolution, layer.weight), convolution.bias
    # In double: two roundings less.
    scale = (norm.running_var.double() + norm.eps).rsqrt()
    if norm.weight is not None:
        scale = scale * norm.weight.double()
    shift = -norm.running_mean.double() * scale
    if norm.bias is not None:
        shift = shift + norm.bias.double()
    if bias is not None:
        shift = (shift + bias.double().flatten() * scale).view_as(bias)
    scaled = weight.double() * _along(scale, weight, layer.channels, convolution)
    for attribute, value in ((layer.weight, scaled), ("bias", shift)):
        parameter = nn.Parameter(value.to(weight.dtype), requires_grad=False)
        setattr(convolution, attribute, parameter)
    parent, _, child = norm_name.rpartition(".")
    setattr(model.get_submodule(parent), child, nn.Identity())


def _along(scale: Tensor, weight: Tensor, dim: int, convolution: nn.Module) -> Tensor:
    """The scales of the output channels, in a shape that multiplies the weight."""
    if dim == 1:  # Transposed: [Ci, Co / groups, ...], inputs sorted by group.
        groups = convolution.groups
        per_input = scale.view(groups, -1).repeat_interleave(len(weight) // groups, 0)
        return per_input.view(*per_input.shape, *[1] * (weight.dim() - 2))
    shape = [1] * weight.dim()
    shape[dim] = -1
    return scale.view(shape)


def _store(model: nn.Module, format: torch.memory_format) -> None:
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            module.to(memory_format=format)


def _autocast(model: nn.Module) -> None:
    forward = model.forward

    def in_bfloat16(*arguments: Any, **named: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return forward(*arguments, **named)

    model.forward = in_bfloat16  # type: ignore[method-assign]


def _shapes(tensors: list[Tensor]) -> list[tuple[int, ...]]:
    return [tuple(each.shape) for each in tensors]


def _difference(found: list[Tensor], expected: list[Tensor]) -> float:
    """NaN if the shapes differ, infinity if the elements with a number do."""
    if _shapes(found) != _shapes(expected):
        return math.nan
    largest = 0.0
    for a, b in zip(found, expected):
        finite = b.isfinite()
        if not torch.equal(a.isfinite(), finite):
            return math.inf
        if finite.any():
            a, b = a[finite].double(), b[finite].double()
            largest = max(largest, float((a - b).abs().max() / b.abs().max().clamp_min(1e-30)))
    return largest
