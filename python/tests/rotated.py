"""Networks that sample features at rotated boxes, offsets and masks, and images for them.

onedl-mmrotate, onedl-mmdetection and onedl-mmsegmentation provide code and configurations; weights
and images are random. detectors.py trains and predicts. `network` is the place to start.
"""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from unittest import mock

import torch
from detectors import ALIGN, DEFORM, OVERLAP, ROTATED, UPRIGHT, batch_of_images, build, images

ALIGN_ROTATED = {"roi_align_rotated", "roi_align_rotated_backward"}
ALIGN_ORIENTATIONS = {"riroi_align_rotated", "riroi_align_rotated_backward"}
ALIGN_FEATURES = {"rotated_feature_align", "rotated_feature_align_backward"}
ROTATE_FILTERS = {"active_rotated_filter", "active_rotated_filter_backward"}
REASSEMBLE = {"carafe", "carafe_backward"}
ALIGN_DEFORMED = {"deform_roi_pool", "deform_roi_pool_backward"}
MASK = {"psamask", "psamask_backward"}

_RETINA = OVERLAP | ROTATED
_RCNN = UPRIGHT | _RETINA
_DEFORMED = UPRIGHT | ALIGN_DEFORMED

# The configuration; the operators that it calls.
NETWORKS = {
    "Oriented R-CNN": ("oriented_rcnn/*-le90_r50_fpn_1x_*", _RCNN | ALIGN_ROTATED),
    "RoI Transformer": ("roi_trans/*-le90_r50_fpn_1x_dota", _RCNN | ALIGN | ALIGN_ROTATED),
    "R3Det": ("r3det/r3det-oc_*", _RETINA | ALIGN_FEATURES),
    "R3Det, two refinements": ("r3det/r3det-refine-*", _RETINA | ALIGN_FEATURES),
    "S2A-Net": ("s2anet/s2anet-le135_r50_fpn_1x_*", _RETINA | DEFORM | ROTATE_FILTERS),
    "ReDet": ("redet/*_refpn_1x_*", _RCNN | ALIGN | ALIGN_ORIENTATIONS),
    "Faster R-CNN, CARAFE": ("carafe/faster-rcnn_*", UPRIGHT | ALIGN | REASSEMBLE),
    "Faster R-CNN, dpool": ("dcn/*_dpool_*", _DEFORMED),
    "Faster R-CNN, mdpool": ("dcnv2/*_mdpool_*", _DEFORMED),
    "PSANet": ("psanet/*_r50-d8_*40k_cityscapes-512x1024", MASK),
}
ROWS = 128  # of an image
# Divides numbers of samples.
PARTS = 4
# Modules that the packages import for other networks.
UNUSED = ("ftfy", "regex", "torchvision")


def load():
    """Returns what is used of the packages."""
    importlib.import_module("mluop_omp.mmcv.auto")
    packages = ("mmdet", "mmrotate", "mmseg")
    absent = [name for name in UNUSED if name not in sys.modules]
    sys.modules.update((name, mock.MagicMock()) for name in absent)
    for package in packages:
        importlib.import_module(f"{package}.models")
        # Registries call it: it would import datasets and metrics, and what these require.
        importlib.import_module(f"{package}.utils").register_all_modules = mock.Mock()
    for name in absent:
        del sys.modules[name]
    importlib.import_module("mmengine.logging").MMLogger.get_current_instance().setLevel("ERROR")
    structures = importlib.import_module("mmengine.structures")
    return SimpleNamespace(
        packages=packages,
        Config=importlib.import_module("mmengine").Config,
        InstanceData=structures.InstanceData,
        MODELS=importlib.import_module("mmengine.registry").MODELS,
        PixelData=structures.PixelData,
        RotatedBoxes=importlib.import_module("mmrotate.structures").RotatedBoxes,
        Sample=importlib.import_module("mmdet.structures").DetDataSample,
        Segments=importlib.import_module("mmseg.structures").SegDataSample,
    )


def rotated_images(mm, config, rows):
    """Two images, and rotated boxes in them."""

    def make_sample(rng, size):
        boxes = rng.uniform([0, 0, 0.1, 0.1, -1.5], [1, 1, 0.4, 0.4, 1.5], (8, 5))
        boxes[:, :4] *= (*size[::-1], *size[::-1])
        sample = mm.Sample()
        sample.gt_instances = mm.InstanceData(
            bboxes=mm.RotatedBoxes(torch.from_numpy(boxes).float()), labels=torch.arange(8)
        )
        return sample

    return batch_of_images(rows, make_sample)


def segments(mm, config, rows):
    """Two images, and the class of each pixel."""

    def make_sample(rng, size):
        classes = rng.integers(0, config.decode_head.num_classes, (1, *size))
        return mm.Segments(gt_sem_seg=mm.PixelData(data=torch.from_numpy(classes)))

    return batch_of_images(rows, make_sample)


def make_smaller(config):
    if config.backbone.type == "ReResNet":  # A convolution takes half a second to construct.
        config.backbone.depth = 18
        config.neck.in_channels = [64, 128, 256, 512]
    if "decode_head" in config:
        config.data_preprocessor.size = (ROWS, ROWS * 5 // 4)
        config.decode_head.mask_size = (33, 33)


def mend(model):
    """Makes the zero offsets and masks of RoIs random, and prepares the model for deepcopy."""
    for module in model.modules():
        for name, layer in (("offset_fc", -1), ("mask_fc", 2)):
            if hasattr(module, name):
                torch.nn.init.normal_(getattr(module, name)[layer].weight, std=0.05)
    # ReDet's constructor expands filters before it freezes them: deepcopy refuses tensors with
    # gradients that are not leaves. This expands them again.
    model.train()


def network(mm, name):
    """Returns the model, a batch to train with, and one to predict of."""
    pattern, _ = NETWORKS[name]
    model, config = build(mm, pattern, PARTS, make_smaller)
    mend(model)
    kinds = {"mmdet": images, "mmrotate": rotated_images, "mmseg": segments}
    data = kinds[config._scope_](mm, config, ROWS)
    return model, data, data
