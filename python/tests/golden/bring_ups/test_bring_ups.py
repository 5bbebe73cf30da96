"""Bring-ups: no instrument calls a wrong device equal, and none calls a right device wrong.

The whole table takes an hour: `table.py`. Here each defect is in one network, every second one as
eager float32, the others as another device; each network is computed by a fifth of the right
devices. The long tests have the defects as eager float32 and as another device, in all networks,
and networks and defects that take long.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

for _package in ("torchvision", "timm", "mmdet", "mmdet3d"):
    # Not imported: torchvision imports with the operators that networks.py defines only.
    if importlib.util.find_spec(_package) is None:
        pytest.skip(f"{_package} is not installed", allow_module_level=True)

# ruff: noqa: E402
import table
import torch
from defects import DEFECTS
from devices import DEVICES
from networks import NETWORKS

# What each network is for; all of them also have a channel that is wrong.
PLAN = {
    "ResNet-18": (
        *("channel x 1.03", "channel x 1.01", "all x 1.03", "last row 0", "last column 0"),
        *("last tile of channels 0", "one wrong element", "stale output", "int8 overflow"),
        *("filters HWIO for OIHW", "bfloat16 sums", "padding repeats the border"),
        *("weight differs", "buffer differs", "BatchNorm eps", "BatchNorm momentum"),
        *("ReLU6 for ReLU", "average of the wrong count", "writes into its input"),
    ),
    "MobileNetV3": ("sigmoid of 8 bits", "SiLU for Hardswish", "one wrong element"),
    "LRASPP": ("align_corners",),
    "SSDLite": ("anchors half a stride off",),
    "Faster R-CNN": ("RoIAlign aligned", "clamp of decoded boxes", "NMS threshold"),
    "ViT tiny": (
        *("column x 1.1", "few rows wrong (race)", "missing bias", "LayerNorm eps"),
        *("GELU by tanh", "attention scale 5 % off", "softmax over the wrong axis"),
        *("swapped q and k", "writes into its input"),
    ),
    "Swin tiny": ("mask ignored", "LayerNorm eps"),
    "ConvNeXt atto": ("LayerNorm eps", "one wrong element"),
    "EfficientNet-B0": ("SiLU by hard sigmoid",),
    "PointPillars": ("last point dropped", "pillars scattered transposed"),
    "SECOND": ("sparse channel x 1.1", "sparse filter mirrored"),
    "VoteNet": ("three_nn index one more", "other first point of FPS"),
    "RetinaNet": ("mean and std in the wrong order",),
    "Faster R-CNN, DCNv2": ("deformable offsets x, y for y, x",),
    "Deformable DETR": ("transposed weight",),
    "YOLOX": ("max pooling pads with 0", "nearest rounds to even"),
}

# Networks of which one row is no long test, and networks of which all rows are.
SLOW = ("PointPillars", "VoteNet")
SLOWEST = ("SECOND", "YOLOX", "RetinaNet", "Swin tiny", "EfficientNet-B0")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


@pytest.fixture(scope="module")
def bench(request, tmp_path_factory) -> table.Bench:
    return table.Bench(request.param, tmp_path_factory.mktemp("runs"))


def variants_of(defect: str) -> tuple[str, str]:
    """Eager float32 and another device; the one that comes first is no long test."""
    number = list(DEFECTS).index(defect)
    others = table.VARIANTS[1:]
    variants = "eager", others[number % len(others)]
    return variants if number % 2 == 0 else variants[::-1]


def rows() -> Iterator[Any]:
    """The first row of each device and defect, and, as long tests, the others."""
    seen = set()
    for number, network in enumerate(NETWORKS):
        # A fifth of the devices for each network: each device computes three networks at least.
        devices = [f"right: {device}" for device in list(DEVICES)[number % 5 :: 5]]
        for row in (*devices, "channel x 1.1", *PLAN[network]):
            for variant in variants_of(row) if row in DEFECTS else ("",):
                is_long = row in seen or network in SLOWEST
                is_long |= network in SLOW and row != PLAN[network][0]
                yield pytest.param(
                    network, row, variant, marks=[pytest.mark.long] if is_long else []
                )
                seen.add(row)


@pytest.mark.parametrize("bench, row, variant", list(rows()), indirect=["bench"])
def test_verdicts(bench, row, variant) -> None:
    if row not in DEFECTS:
        cell = bench.cell(row.partition(": ")[2])
    else:
        cell = bench.cell(variant, DEFECTS[row])
        assert variant != "eager" or cell.letter != "." or row == "channel x 1.1"
    # In half precision, a defect may be smaller than what rounding explains; which ones are depends
    # on the kernels of the processor. No verdict may be wrong then either.
    wrong = table.WRONG if variant in ("", "eager") else table.WRONG.replace("m", "")
    report = f"{variant} expects {cell.expected}\n{cell.compare}\n{cell.replay}"
    assert cell.letter not in wrong, f"{table.MEANING[cell.letter]}: {report}"


def test_each_defect_is_in_a_network() -> None:
    planned = {"channel x 1.1"}.union(*PLAN.values())
    assert len(planned) >= 30 and planned <= set(DEFECTS) and list(PLAN) == list(NETWORKS)
