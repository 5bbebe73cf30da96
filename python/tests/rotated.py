"""Networks of mmrotate, mmdetection and mmsegmentation, and images for them.

onedl-mmrotate, onedl-mmdetection and onedl-mmsegmentation provide code and configurations; weights
and images are random. detectors.py trains and predicts. `network` is the place to start.
"""

from __future__ import annotations

import importlib
import sys
from functools import partial
from types import SimpleNamespace
from unittest import mock

import numpy as np
import torch
from detectors import (
    ALIGN,
    ATTENTION,
    DEFORM,
    OVERLAP,
    ROTATED,
    UPRIGHT,
    batch_of_images,
    build,
    images,
)

ALIGN_ROTATED = {"roi_align_rotated", "roi_align_rotated_backward"}
ALIGN_ORIENTATIONS = {"riroi_align_rotated", "riroi_align_rotated_backward"}
ALIGN_FEATURES = {"rotated_feature_align", "rotated_feature_align_backward"}
ROTATE_FILTERS = {"active_rotated_filter", "active_rotated_filter_backward"}
REASSEMBLE = {"carafe", "carafe_backward"}
ALIGN_DEFORMED = {"deform_roi_pool", "deform_roi_pool_backward"}
MASK = {"psamask", "psamask_backward"}
SORT_VERTICES = {"diff_iou_rotated_sort_vertices"}
QUADRILATERALS = {"nms_quadri"}
INSIDE_POLYGONS = {"points_in_polygons"}

# Filters are constants.
SAMPLE_FEATURES = DEFORM - {"deform_conv2d_backward_weight"}

_RETINA = OVERLAP | ROTATED
_RCNN = UPRIGHT | _RETINA
_DEFORMED = UPRIGHT | ALIGN_DEFORMED
_POINTS = DEFORM | ROTATED | {"convex_iou", "convex_giou", "min_area_polygons"}

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
    "Rotated RetinaNet": ("rotated_retinanet/*-rbox-le90_r50_fpn_1x_dota", _RETINA),
    "Rotated Faster R-CNN": ("rotated_faster_rcnn/*-le90_r50_fpn_1x_*", UPRIGHT | ALIGN | ROTATED),
    "Rotated FCOS": ("rotated_fcos/rotated-fcos-le90_r50_fpn_1x_*", ROTATED | SORT_VERTICES),
    "Rotated ATSS": ("rotated_atss/*", _RETINA | SORT_VERTICES),
    "Rotated RTMDet": ("rotated_rtmdet/*_tiny-3x-dota", _RETINA | SORT_VERTICES),
    "CSL": ("csl/*", _RETINA),
    "PSC": ("psc/*_amp-1x_*", _RETINA),
    "GWD": ("gwd/*-rbox-le90_*", _RETINA),
    "KLD": ("kld/*-rbox-le90_r50_fpn_kld_1x_*", _RETINA),
    "KFIoU": ("kfiou/*-retinanet-hbox-le90_*", _RETINA),
    "H2RBox": ("h2rbox/*-1x_dota", ROTATED),
    "H2RBox-v2": ("h2rbox_v2/*_fpn-1x_dota", ROTATED),
    "Gliding vertex": ("gliding_vertex/*-qbox_*", UPRIGHT | ALIGN | QUADRILATERALS),
    "Gliding vertex, rectangles": ("gliding_vertex/*-rbox_*", UPRIGHT | ALIGN | ROTATED),
    "Rotated RepPoints": ("rotated_reppoints/*-qbox_*", _POINTS),
    "CFA": ("cfa/*-qbox_*_1x_*", _POINTS),
    "SASM": ("sasm_reppoints/*-qbox_*", _POINTS | INSIDE_POLYGONS),
    "Oriented RepPoints": ("oriented_reppoints/*-qbox_*_1x_*", _POINTS | {"chamfer_distance"}),
    "DyHead": ("dyhead/atss_r50_*", UPRIGHT | DEFORM),
    "TOOD": ("tood/tood_r50_fpn_1x_*", UPRIGHT | SAMPLE_FEATURES),
    "DINO": ("dino/dino-4scale_r50_8xb2-12e_*", ATTENTION),
    "DDQ": ("ddq/ddq-detr-4scale_r50_*", UPRIGHT | ATTENTION),
    "Mask2Former": ("mask2former/*_r50_*_coco", ATTENTION),
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
    if "torchvision" in absent:
        flips = sys.modules["torchvision"].transforms.functional
        flips.vflip = partial(torch.flip, dims=[-2])
    for package in packages:
        importlib.import_module(f"{package}.models")
        # Registries call it: it would import datasets and metrics, and what these require.
        importlib.import_module(f"{package}.utils").register_all_modules = mock.Mock()
    for name in absent:
        del sys.modules[name]
    logging = importlib.import_module("mmengine.logging")
    logging.MMLogger.get_current_instance().setLevel("ERROR")
    logging.MessageHub.get_current_instance().update_info("epoch", 4)  # of TOOD: after the first
    structures = importlib.import_module("mmengine.structures")
    return SimpleNamespace(
        packages=packages,
        Config=importlib.import_module("mmengine").Config,
        InstanceData=structures.InstanceData,
        Masks=importlib.import_module("mmdet.structures.mask").BitmapMasks,
        MODELS=importlib.import_module("mmengine.registry").MODELS,
        PixelData=structures.PixelData,
        RotatedBoxes=importlib.import_module("mmrotate.structures").RotatedBoxes,
        Sample=importlib.import_module("mmdet.structures").DetDataSample,
        Segments=importlib.import_module("mmseg.structures").SegDataSample,
    )


def rotated_images(mm, config, rows, box_type):
    """Two images, and boxes of this type in them: "rbox" or "qbox"."""

    def make_sample(rng, size):
        boxes = rng.uniform([0, 0, 0.1, 0.1, -1.5], [1, 1, 0.4, 0.4, 1.5], (8, 5))
        boxes[:, :4] *= (*size[::-1], *size[::-1])
        boxes = mm.RotatedBoxes(torch.from_numpy(boxes).float()).convert_to(box_type)
        sample = mm.Sample()
        sample.gt_instances = mm.InstanceData(bboxes=boxes, labels=torch.arange(8))
        return sample

    return batch_of_images(rows, make_sample)


def segments(mm, config, rows):
    """Two images, and the class of each pixel."""

    def make_sample(rng, size):
        classes = rng.integers(0, config.decode_head.num_classes, (1, *size))
        return mm.Segments(gt_sem_seg=mm.PixelData(data=torch.from_numpy(classes)))

    return batch_of_images(rows, make_sample)


def instances(mm, config, rows):
    """Two images, and the mask of each box in them."""
    data = images(mm, config, rows)
    for sample in data["data_samples"]:
        boxes = sample.gt_instances.bboxes.round().int().tolist()
        masks = np.zeros((len(boxes), *sample.img_shape), np.uint8)
        for mask, (x1, y1, x2, y2) in zip(masks, boxes):
            mask[y1:y2, x1:x2] = 1
        sample.gt_instances.masks = mm.Masks(masks, *sample.img_shape)
    return data


def make_smaller(config):
    if config.backbone.type == "ReResNet":  # A convolution takes half a second to construct.
        config.backbone.depth = 18
        config.neck.in_channels = [64, 128, 256, 512]
    if "decode_head" in config:
        config.data_preprocessor.size = (ROWS, ROWS * 5 // 4)
        config.decode_head.mask_size = (33, 33)
    for part in (config, config.get("bbox_head", {})):
        if "crop_size" in part:
            part["crop_size"] = (ROWS, ROWS * 5 // 4)
        if part.get("num_points", 0) == 9 // PARTS:  # of an object
            part["num_points"] = 9
    for assigner in (config.get("train_cfg") or {}).values():
        if "SASAssigner" in str(assigner):
            assigner.assigner.topk = 2  # The coarsest feature map has no more points.
    if "panoptic_head" in config:
        config.data_preprocessor.batch_augments = None
        config.panoptic_head.num_queries = 20
        config.train_cfg.num_points = 500


def mend(model):
    """Makes offsets and masks that are zero random, and prepares the model for deepcopy."""
    for module in model.modules():
        for name, layer in (("offset_fc", -1), ("mask_fc", 2)):
            if hasattr(module, name):
                torch.nn.init.normal_(getattr(module, name)[layer].weight, std=0.05)
        if hasattr(module, "spatial_conv_offset"):
            torch.nn.init.normal_(module.spatial_conv_offset.weight, std=0.05)
    if isinstance(getattr(model, "level_embed", None), torch.nn.Parameter):
        torch.nn.init.normal_(model.level_embed)  # Its constructor leaves them unwritten.
    if type(getattr(model, "roi_head", None)).__name__ == "GVRatioRoIHead":
        # To scale rectangles, it passes quadrilaterals to nms_rotated.
        model.predict = partial(type(model).predict, model, rescale=False)
    # ReDet's constructor expands filters before it freezes them: deepcopy refuses tensors with
    # gradients that are not leaves. This expands them again.
    model.train()


def network(mm, name):
    """Returns the model, a batch to train with, and one to predict of."""
    pattern, _ = NETWORKS[name]
    model, config = build(mm, pattern, PARTS, make_smaller)
    mend(model)
    box_type = "qbox" if "-qbox" in pattern or "gliding" in pattern else "rbox"
    kinds = {
        "mmdet": instances if "panoptic_head" in config else images,
        "mmrotate": partial(rotated_images, box_type=box_type),
        "mmseg": segments,
    }
    data = kinds[config._scope_](mm, config, ROWS)
    return model, data, data
