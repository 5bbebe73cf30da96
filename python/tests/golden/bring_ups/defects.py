"""Realistic defects of kernels and of their callers, each in one layer of a model.

The decorator of a defect states the layers that it needs; the middle one of these gets it. Its name
is the first that an instrument has to name.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from typing import Any, Callable
from unittest import mock

import torch
from devices import SPARSE, override, pairs
from torch import nn
from torch.nn import functional as F

DEFECTS: dict[str, Defect] = {}
Needs = Callable[[str, nn.Module], bool]


@dataclasses.dataclass(frozen=True)
class Defect:
    """A defect.

    Attributes:
        needs: whether a module may have the defect.
        insert: changes a module.
        of_state: whether parameters or buffers differ and no output.
        training: whether the model runs in training mode.
        pattern: what the report about a device of float32 without fusion has to say about the
            elements, a regular expression.
    """

    name: str
    needs: Needs
    insert: Callable[[nn.Module], None]
    of_state: bool = False
    training: bool = False
    pattern: str = ""


def is_a(*classes: type | str) -> Needs:
    """Modules of these classes, or of classes of these names."""

    def matches(name: str, module: nn.Module) -> bool:
        kinds = tuple(each for each in classes if isinstance(each, type))
        return isinstance(module, kinds) or type(module).__name__ in classes

    return matches


def where(needs: Needs, condition: Callable[[Any], bool]) -> Needs:
    return lambda name, module: needs(name, module) and condition(module)


def defect(name: str, needs: Needs, **options: Any) -> Callable[[Callable], Callable]:
    def add(insert: Callable[[nn.Module], None]) -> Callable:
        DEFECTS[name] = Defect(name, needs, insert, **options)
        return insert

    return add


def fused_with(model: nn.Module, name: str) -> set[str]:
    """Returns the names of the convolution and its BatchNorm if a device may fuse a module.

    A fused BatchNormAct2d leaves its activation in its place.
    """
    for outer, _, conv, norm in pairs(model):
        both = [f"{outer}.{each}".lstrip(".") for each in (conv, norm)]
        if name in both:
            return set(both)
        if name == f"{both[1]}.act":
            return {both[1], name}
    return {name}


def after(module: nn.Module, change: Callable[[torch.Tensor], Any]) -> None:
    """Changes a contiguous copy of the output of a module."""

    def hook(module: nn.Module, args: tuple, output: Any) -> Any:
        if isinstance(output, torch.Tensor):
            return change(output.clone(memory_format=torch.contiguous_format))
        return output

    module.register_forward_hook(hook)


def with_patch(module: nn.Module, owner: Any, name: str, change: Callable[[Callable], Any]) -> None:
    """Replaces a function while one module computes: change(right) returns the replacement."""

    def forward(right: Callable, self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        target = importlib.import_module(owner) if isinstance(owner, str) else owner
        with mock.patch.object(target, name, change(getattr(target, name))):
            return right(*args, **kwargs)

    override(module, forward)


CONV, LINEAR = is_a(nn.Conv2d), is_a(nn.Linear)
BATCH_NORM, LAYER_NORM = is_a(nn.BatchNorm2d), is_a(nn.LayerNorm)

# --- Convolutions and linear layers: elements of the output ---

for _factor in (1.1, 1.03, 1.01):

    @defect(
        f"channel x {_factor}", CONV, pattern=f"one index: 3 of .*each is (about )?{_factor} times"
    )
    def _(conv, factor=_factor):
        def scaled(y):
            y[:, 3] *= factor
            return y

        after(conv, scaled)


@defect("all x 1.03", CONV, pattern="(each is|about) 1.03 ")
def _(conv):
    after(conv, lambda y: y * 1.03)


@defect("column x 1.1", LINEAR, pattern="one index: 5 of .*each is (about )?1.1 times")
def _(linear):
    def scaled(y):
        y[..., 5] *= 1.1
        return y

    after(linear, scaled)


@defect("last row 0", CONV, pattern="one index: .*dim 2.*each is 0")
def _(conv):
    def zero(y):
        y[:, :, -1] = 0
        return y

    after(conv, zero)


@defect("last column 0", CONV, pattern="one index: .*dim 3.*each is 0")
def _(conv):
    def zero(y):
        y[..., -1] = 0
        return y

    after(conv, zero)


@defect("last tile of channels 0", CONV, pattern="8 of .*dim 1.*each is 0")
def _(conv):
    def zero(y):
        y[:, -8:] = 0
        return y

    after(conv, zero)


@defect("one wrong element", CONV, pattern="one element")
def _(conv):
    def wrong(y):
        y.view(-1)[y.numel() // 3] += y.std()
        return y

    after(conv, wrong)


@defect("few rows wrong (race)", is_a(nn.Conv2d, nn.Linear), pattern="each is (about )?0.5 times")
def _(layer):
    def wrong(y):
        rows = y.view(-1, y.shape[-1])
        for row in torch.randperm(len(rows), generator=torch.Generator().manual_seed(4))[:3]:
            rows[row] *= 0.5
        return y

    after(layer, wrong)


@defect("stale output", CONV)
def _(conv):
    """The output of the previous call, here of other inputs."""
    override(conv, lambda right, self, x: right(x.roll(1, -1)))


@defect("int8 overflow", CONV)
def _(conv):
    def wrapped(y):
        scale = y.abs().max() / 140
        return (((y / scale).round() + 128) % 256 - 128) * scale

    after(conv, wrapped)


# --- Convolutions and linear layers: operands ---


@defect(
    "filters HWIO for OIHW", where(CONV, lambda m: m.kernel_size[0] > 1 and m.weight.shape[1] > 1)
)
def _(conv):
    def forward(right, self, x):
        weight = self.weight.permute(2, 3, 1, 0).reshape(self.weight.shape)
        return self._conv_forward(x, weight, self.bias)

    override(conv, forward)


@defect("transposed weight", where(LINEAR, lambda m: m.in_features == m.out_features))
def _(linear):
    override(linear, lambda right, self, x: F.linear(x, self.weight.mT, self.bias))


@defect(
    "missing bias",
    where(is_a(nn.Conv2d, nn.Linear), lambda m: m.bias is not None and m.bias.abs().max() > 1e-3),
    pattern=r"a \* expected \+ b, a 1, b ",
)
def _(layer):
    def forward(right, self, x):
        bias = self.bias[:, None, None] if isinstance(self, nn.Conv2d) else self.bias
        return right(x) - bias

    override(layer, forward)


@defect("bfloat16 sums", CONV)
def _(conv):
    def forward(right, self, x):
        y = 0
        for inputs, weight in zip(x.split(8, 1), self.weight.split(8, 1)):
            y = (
                y + F.conv2d(inputs, weight, None, self.stride, self.padding, self.dilation)
            ).bfloat16()
        y = y.to(x.dtype)
        return y if self.bias is None else y + self.bias[:, None, None]

    override(conv, forward)


DEFECTS["bfloat16 sums"] = dataclasses.replace(
    DEFECTS["bfloat16 sums"], needs=where(CONV, lambda m: m.groups == 1)
)


@defect(
    "padding repeats the border",
    where(CONV, lambda m: 0 not in m.padding and m.padding != "same"),
    pattern="a border",
)
def _(conv):
    def forward(right, self, x):
        (top, left), stride = self.padding, self.stride
        x = F.pad(x, (left, left, top, top), mode="replicate")
        return F.conv2d(x, self.weight, self.bias, stride, 0, self.dilation, self.groups)

    override(conv, forward)


@defect("weight differs", CONV)
def _(conv):
    conv.weight.data[1] *= 1.1


@defect(
    "buffer differs", where(BATCH_NORM, lambda m: m.num_batches_tracked is not None), of_state=True
)
def _(norm):
    norm.num_batches_tracked += 7


# --- Normalizations ---


@defect("LayerNorm eps", LAYER_NORM)
def _(norm):
    norm.eps = 1e-2


@defect("BatchNorm eps", BATCH_NORM, pattern=r"a \* expected \+ b")
def _(norm):
    norm.eps = 5e-2


@defect("BatchNorm momentum", BATCH_NORM, of_state=True, training=True)
def _(norm):
    norm.momentum = 0.2


# --- Activations ---


@defect("GELU by tanh", is_a(nn.GELU, "GELU"))
def _(act):
    override(act, lambda right, self, x: F.gelu(x, approximate="tanh"))


@defect("SiLU for Hardswish", is_a(nn.Hardswish))
def _(act):
    override(act, lambda right, self, x: F.silu(x))


@defect("ReLU6 for ReLU", where(is_a(nn.ReLU), lambda m: type(m) is nn.ReLU))
def _(act):
    override(act, lambda right, self, x: x.clamp(0, 6))


@defect("SiLU by hard sigmoid", is_a(nn.SiLU, "SiLU", "Swish"))
def _(act):
    override(act, lambda right, self, x: x * F.hardsigmoid(x))


@defect("sigmoid of 8 bits", is_a(nn.Sigmoid, "Sigmoid", nn.Hardsigmoid))
def _(act):
    after(act, lambda y: (y * 256).round() / 256)


@defect(
    "writes into its input", is_a(nn.Conv2d, nn.LayerNorm), pattern="input 0 is written in place"
)
def _(act):
    def forward(right, self, x):
        y = right(x.clone())
        x.mul_(0.5)
        return y

    override(act, forward)


# --- Attention ---


def attends(name, module):
    kinds = ("Attention", "WindowAttention", "MultiheadAttention")
    return (
        type(module).__name__ in kinds
        and "scale" in vars(module)
        or type(module) is nn.MultiheadAttention
    )


ATTENTION = attends


def attention(module, change):
    """change(q, k, v, mask) returns the result of another attention."""

    def replaced(right):
        def product(q, k, v, attn_mask=None, dropout_p=0.0, **options):
            return change(q, k, v, attn_mask)

        return product

    with_patch(module, F, "scaled_dot_product_attention", replaced)


def attend(q, k, v, mask, scale=1.0, dim=-1):
    logits = scale * q @ k.mT / q.shape[-1] ** 0.5
    return (logits if mask is None else logits + mask).softmax(dim) @ v


@defect("attention scale 5 % off", ATTENTION)
def _(module):
    attention(module, functools.partial(attend, scale=1.05))


@defect("softmax over the wrong axis", ATTENTION)
def _(module):
    attention(module, functools.partial(attend, dim=-2))


@defect("swapped q and k", ATTENTION)
def _(module):
    attention(module, lambda q, k, v, mask: attend(k, q, v, mask))


@defect("mask ignored", is_a("WindowAttention"))
def _(module):
    override(module, lambda right, self, x, mask=None: right(x))


# --- Pooling and interpolation ---


@defect(
    "max pooling pads with 0", where(is_a(nn.MaxPool2d), lambda m: m.padding not in (0, (0, 0)))
)
def _(pool):
    def forward(right, self, x):
        x = F.pad(x, [self.padding] * 4)
        return F.max_pool2d(x, self.kernel_size, self.stride, 0, self.dilation)

    override(pool, forward)


@defect(
    "average of the wrong count",
    is_a(nn.AdaptiveAvgPool2d, "SelectAdaptivePool2d"),
    pattern="(each is|about) 0.941",
)
def _(pool):
    after(pool, lambda y: y * (16 / 17))


@defect("align_corners", is_a("LRASPPHead"))
def _(module):
    def replaced(right):
        def interpolate(x, size=None, mode="nearest", **options):
            return right(x, size=size, mode=mode, align_corners=True)

        return interpolate

    with_patch(module, F, "interpolate", replaced)


# --- Preprocessing ---


@defect("mean and std in the wrong order", is_a("GeneralizedRCNNTransform", "DetDataPreprocessor"))
def _(module):
    for name in ("image_mean", "image_std"):
        if hasattr(module, name):
            setattr(module, name, getattr(module, name)[::-1])
    for name in ("mean", "std"):
        if isinstance(getattr(module, name, None), torch.Tensor):
            getattr(module, name).copy_(getattr(module, name).flip(0))


# --- Voxels, points, boxes ---


VOXELS = is_a("VoxelizationByGridShape")


@defect("last point dropped", VOXELS, pattern="only in expected|each is 0")
def _(layer):
    override(layer, lambda right, self, points: right(points[:-1]))


@defect("max_points one less", VOXELS)
def _(layer):
    layer.max_num_points -= 1


@defect("coordinates x, y, z for z, y, x", VOXELS)
def _(layer):
    def swapped(module, args, output):
        voxels, coordinates, counts = output
        return voxels, coordinates.flip(1), counts

    layer.register_forward_hook(swapped)


@defect("pillars scattered transposed", is_a("PointPillarsScatter"), pattern="transposed")
def _(layer):
    def forward(right, self, features, coordinates, *others):
        return right(features, coordinates[:, [0, 1, 3, 2]], *others)

    override(layer, forward)


@defect(
    "sparse channel x 1.1", is_a(*SPARSE), pattern="one channel: 3 of .*each is (about )?1.1 times"
)
def _(layer):
    def scaled(module, args, output):
        features = output.features.clone()
        features[:, 3] *= 1.1
        output.features = features
        return output

    layer.register_forward_hook(scaled)


@defect("sparse filter mirrored", is_a(*SPARSE))
def _(layer):
    def forward(right, self, x):
        weight = self.weight.data
        self.weight.data = weight.flip(1 if weight.shape[0] == self.out_channels else 0)
        try:
            return right(x)
        finally:
            self.weight.data = weight

    override(layer, forward)


@defect("three_nn index one more", is_a("PointFPModule"))
def _(module):
    def replaced(right):
        def three_nn(target, source):
            distances, indices = right(target, source)
            return distances, (indices + 1).clamp(max=source.shape[1] - 1)

        return three_nn

    owner = "mmdet3d.models.layers.pointnet_modules.point_fp_module"
    with_patch(module, owner, "three_nn", replaced)


@defect("other first point of FPS", is_a("DFPSSampler"))
def _(sampler):
    def forward(right, self, points, features, npoint):
        return points.shape[1] - 1 - right(points.flip(1), features, npoint)

    override(sampler, forward)


@defect("deformable offsets x, y for y, x", is_a("ModulatedDeformConv2dPack"))
def _(layer):
    def replaced(right):
        def convolution(x, offset, *others):
            return right(x, offset.unflatten(1, (-1, 2)).flip(2).flatten(1, 2), *others)

        return convolution

    with_patch(layer, "mmcv.ops.modulated_deform_conv", "modulated_deform_conv2d", replaced)


@defect("RoIAlign aligned", is_a("MultiScaleRoIAlign", "RoIAlign"))
def _(pool):
    if hasattr(pool, "aligned"):
        pool.aligned = not pool.aligned
    else:
        aligned = functools.partial(functools.partial, aligned=True)
        with_patch(pool, "torchvision.ops.poolers", "roi_align", aligned)


@defect("nearest rounds to even", is_a(nn.Upsample, "FPN"))
def _(module):
    def replaced(right):
        def interpolate(x, *args, **options):
            extents = right(x, *args, **options).shape[2:]
            for dim, extent in zip((2, 3), extents):
                last = x.shape[dim] - 1
                index = (torch.arange(extent) * (x.shape[dim] / extent)).round().long()
                x = x.index_select(dim, index.clamp(max=last))
            return x

        return interpolate

    with_patch(module, F, "interpolate", replaced)


@defect("anchors half a stride off", is_a("AnchorGenerator", "DefaultBoxGenerator", "RetinaNet"))
def _(module):
    if hasattr(module, "bbox_head"):
        generator = module.bbox_head.prior_generator
        strides = [each[0] for each in generator.strides]
        anchors = zip(generator.base_anchors, strides)
        generator.base_anchors = [each + stride / 2 for each, stride in anchors]
    else:
        override(module, lambda right, self, *args: [each + 8 for each in right(*args)])


SUPPRESSES = is_a("RegionProposalNetwork", "RoIHeads", "SSD")


@defect("clamp of decoded boxes", SUPPRESSES)
def _(module):
    module.box_coder.bbox_xform_clip = 0.01


@defect("NMS threshold", is_a("RegionProposalNetwork", "RoIHeads", "SSD", "RetinaNet"))
def _(module):
    if hasattr(module, "bbox_head"):
        module.bbox_head.test_cfg.nms.iou_threshold = 0.3
    else:
        module.nms_thresh -= 0.2


@defect("NMS of bfloat16 scores", SUPPRESSES)
def _(module):
    def replaced(right):
        return lambda boxes, scores, threshold: right(boxes, scores.bfloat16().float(), threshold)

    with_patch(module, "torchvision.ops.boxes", "nms", replaced)


@defect("top-k in ascending order", is_a("RegionProposalNetwork", "SSD", "DeformableDETR"))
def _(module):
    def replaced(right):
        def topk(self, k, *args, **options):
            values, indices = right(self, k, *args, **options)
            return torch.return_types.topk((values.flip(-1), indices.flip(-1)))

        return topk

    with_patch(module, torch.Tensor, "topk", replaced)
