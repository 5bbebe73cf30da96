"""Bring-ups: no instrument calls a wrong device equal, and none calls a right device wrong.

The whole table takes an hour: `table.py`. Here each defect is in one network or two, as eager
float32 and as one other device, and each right device computes each network.
"""

from __future__ import annotations

import fnmatch
import importlib.util
from collections.abc import Iterator

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
    "MobileNetV3": ("sigmoid of 8 bits", "one wrong element"),
    "LRASPP": ("align_corners",),
    "SSDLite": ("ReLU for ReLU6", "anchors half a stride off"),
    "Faster R-CNN": ("RoIAlign aligned", "clamp of decoded boxes", "NMS threshold"),
    "ViT tiny": (
        *("column x 1.1", "few rows wrong (race)", "missing bias", "LayerNorm eps"),
        *("GELU by tanh", "attention scale 5 % off", "softmax over the wrong axis"),
        *("swapped q and k", "writes into its input"),
    ),
    "Swin tiny": ("mask ignored", "LayerNorm eps"),
    "ConvNeXt atto": ("GELU by tanh",),
    "EfficientNet-B0": ("SiLU by hard sigmoid",),
    "PointPillars": ("last point dropped", "pillars scattered transposed"),
    "SECOND": ("sparse channel x 1.1", "sparse filter mirrored"),
    "VoteNet": ("three_nn index one more", "other first point of FPS"),
    "RetinaNet": ("mean and std in the wrong order",),
    "Faster R-CNN, DCNv2": ("deformable offsets x, y for y, x",),
    "Deformable DETR": ("top-k in ascending order",),
    "YOLOX": ("max pooling pads with 0", "nearest rounds to even"),
}
# What the instruments miss: network, row, device; patterns of fnmatch. Each line excuses a cell at
# least, so that it goes when the instruments find more.
MISSES = (
    ("*", "right: bf16", "*"),
    ("*", "right: fp16", "*"),
    ("*", "right: autocast", "*"),
    ("*", "right: fused*", "*"),
    ("*", "*", "*bf16"),
    ("*", "*", "fused"),
    ("*", "buffer differs", "eager"),
    ("*", "BatchNorm momentum", "eager"),
    ("*", "writes into its input", "eager"),
)
_used: set[tuple[str, str, str]] = set()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


@pytest.mark.parametrize("network", NETWORKS)
def test_devices_and_defects(network, tmp_path) -> None:
    bench, wrong = table.Bench(network, tmp_path), []
    cells = [(f"right: {variant}", "", bench.cell(variant)) for variant in DEVICES]
    for defect in ("channel x 1.1", *PLAN[network]):
        others = table.VARIANTS[1:]
        other = others[list(DEFECTS).index(defect) % len(others)]
        for variant in ("eager", other):
            cell = bench.cell(variant, DEFECTS[defect])
            assert cell.letter != "." or variant != "eager" or defect == "channel x 1.1", defect
            cells.append((defect, variant, cell))
    for row, variant, cell in cells:
        if cell.letter not in table.BAD:
            continue
        place = network, row, variant
        known = [each for each in MISSES if all(map(fnmatch.fnmatchcase, place, each))]
        _used.update(known)
        if not known:
            wrong.append(f"{cell.letter} {place}, expected {cell.expected}\n{cell.compare}")
    assert not wrong, "\n".join(wrong)


def test_each_defect_is_in_a_network() -> None:
    planned = {"channel x 1.1"}.union(*PLAN.values())
    assert len(planned) >= 30 and planned <= set(DEFECTS) and list(PLAN) == list(NETWORKS)


def test_each_line_of_misses_excuses_a_cell() -> None:
    if not _used:
        pytest.skip("runs after test_devices_and_defects")
    assert set(MISSES) == _used
