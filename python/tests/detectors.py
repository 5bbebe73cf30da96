"""Networks of mmdetection3d and mmdetection, scenes for them, a step of training, and a prediction.

The packages provide code and configurations; weights and scenes are random. For tests, extents
and numbers of samples are divided. `network` is the place to start.
"""

from __future__ import annotations

import copy
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

import mluop_omp

HARD = {"voxelization"}
SCATTER = {"dynamic_scatter"}
SCATTER_FEATURES = SCATTER | {"dynamic_scatter_backward"}
MEAN = {"dynamic_voxelize_forward"} | SCATTER
DYNAMIC = MEAN | SCATTER_FEATURES
_CONVOLUTION = {"indice_conv", "indice_conv_backward_data", "indice_conv_backward_filter"}
SPARSE = {"indice_pairs"} | _CONVOLUTION
POOL = {"indice_maxpool", "indice_maxpool_backward"}
ROTATED = {"nms_rotated"}
UPRIGHT = {"nms"}
SAMPLE = {"furthest_point_sample"}
SAMPLE_CENTERS = SAMPLE | {"gather_points"}
SAMPLE_VOTES = SAMPLE_CENTERS | {"gather_points_backward"}
GROUP = {"gather_points"}
GROUP_FEATURES = GROUP | {"gather_points_backward"}
BALLS = GROUP_FEATURES | {"ball_query"}
NEIGHBORS = {"knn"}
STACKED = {"stack_ball_query", "stack_group_points", "stack_group_points_backward"}
INTERPOLATE = {"three_nn", "three_interpolate", "three_interpolate_backward"}
INSIDE = {"points_in_boxes_all"}
PART = {"points_in_boxes_part"}
OVERLAP = {"box_iou_rotated"}
POOL_VOXELS = {"roiaware_pool3d", "roiaware_pool3d_backward"}
POOL_POINTS = {"roipoint_pool3d"}
SCORES = {"assign_score_withk", "assign_score_withk_backward"}
FOCAL = {"sigmoid_focal_loss", "sigmoid_focal_loss_backward"}
ALIGN = {"roi_align", "roi_align_backward"}
DEFORM = {"deform_conv2d", "deform_conv2d_backward_data", "deform_conv2d_backward_weight"}
MASKED = {"masked_im2col", "masked_col2im"}
ATTENTION = {"ms_deform_attn", "ms_deform_attn_backward"}
IOU_LOSS = {"diff_iou_rotated_sort_vertices"}
TORCHSPARSE = {"floor_sites", "site_pairs"} | _CONVOLUTION
MINKOWSKI = TORCHSPARSE | {"unique_rows"}
PRUNED = MINKOWSKI | {"corners", "reached_sites", "union_rows"} | FOCAL

_VOTES = SAMPLE_VOTES | BALLS | INTERPOLATE | INSIDE
_FUSED_SAMPLES = SAMPLE_CENTERS | {"furthest_point_sample_with_dist"}
_SEGMENTS = SAMPLE_CENTERS | INTERPOLATE
_VOXEL_ROIS = HARD | SPARSE | ROTATED | PART | OVERLAP
_AUXILIARY = FOCAL | INSIDE | INTERPOLATE
_POINT_ROIS = SAMPLE_CENTERS | BALLS | INTERPOLATE | ROTATED | PART | OVERLAP | POOL_POINTS
_GUIDED = UPRIGHT | DEFORM | MASKED
_ALIGNED = UPRIGHT | ALIGN

# The configuration; by what its extents along x and y, and its numbers of samples, are divided; the
# points of a scene, or the rows of an image; the operators that it calls.
NETWORKS = {
    "CenterPoint of pillars": ("centerpoint/*_pillar02_*fpn_8xb4*", 4, 2000, HARD | ROTATED),
    "CenterPoint, circle NMS": ("centerpoint/*_pillar02_*head-circlenms_*", 4, 2000, HARD),
    "CenterPoint": ("centerpoint/*_voxel01_*fpn_8xb4*", 4, 1000, HARD | SPARSE | ROTATED),
    "CenterPoint, DCN": ("centerpoint/*_pillar02_*head-dcn_*", 4, 2000, HARD | ROTATED | DEFORM),
    "SECOND": ("second/*_hv_secfpn_8xb6-80e_*-3class*", 4, 1000, HARD | SPARSE | ROTATED),
    "SECOND, dynamic": ("dynamic_voxelization/second_*3class*", 4, 1000, MEAN | SPARSE | ROTATED),
    "SA-SSD": ("sassd/*", 4, 500, HARD | SPARSE | ROTATED | _AUXILIARY),
    "PointPillars": ("pointpillars/*_kitti-3d-3class*", 2, 2000, HARD | ROTATED),
    "PointPillars, dynamic": ("dynamic_voxelization/pointpillars_*", 2, 2000, DYNAMIC | ROTATED),
    "PointPillars, nuScenes": ("pointpillars/*_fpn_sbn-all_8xb4-2x_nus*", 4, 2000, HARD | ROTATED),
    "SSN": ("ssn/ssn_hv_secfpn_*nus*", 2, 2000, HARD | ROTATED),
    "MVX-Net": ("mvxnet/*3class*", 4, 2000, DYNAMIC | SPARSE | ROTATED),
    "PV-RCNN": ("pv_rcnn/*", 4, 500, _VOXEL_ROIS | SAMPLE | STACKED),
    "PartA2": ("parta2/*3class*", 4, 500, _VOXEL_ROIS | POOL | UPRIGHT | POOL_VOXELS),
    "VoteNet": ("votenet/votenet_8xb16_sunrgbd-3d", 4, 2000, _VOTES),
    "GroupFree3D": ("groupfree3d/*_head-L6-O256_*", 4, 2000, _VOTES),
    "H3DNet": ("h3dnet/h3dnet_*", 4, 2000, _VOTES),
    "3DSSD": ("3dssd/3dssd_*", 4, 2000, _FUSED_SAMPLES | BALLS | INSIDE | UPRIGHT),
    "PointRCNN": ("point_rcnn/*", 4, 2000, _POINT_ROIS),
    "PointNet++, one scale": ("pointnet2/*_ssg_*_s3dis-seg", 1, 2048, _SEGMENTS | BALLS),
    "PointNet++, several scales": ("pointnet2/*_msg_*_s3dis-seg", 1, 2048, _SEGMENTS | BALLS),
    "PAConv": ("paconv/paconv_ssg_8xb8*", 2, 1024, _SEGMENTS | NEIGHBORS | GROUP_FEATURES),
    "PAConv, CUDA": ("paconv/paconv_ssg-cuda*", 2, 1024, _SEGMENTS | NEIGHBORS | GROUP | SCORES),
    "DGCNN": ("dgcnn/*_test-area5", 1, 512, NEIGHBORS | GROUP_FEATURES),
    "Cylinder3D": ("cylinder3d/*_4xb4*", 1, 500, SCATTER_FEATURES | SPARSE),
    "MinkUNet": ("minkunet/minkunet34_w32_spconv_8xb2-laser*", 1, 500, SPARSE),
    "FCAF3D": ("fcaf3d/*_sunrgbd-3d*", 1, 200, PRUNED | IOU_LOSS),
    "FCAF3D, upright": ("fcaf3d/*_scannet-3d*", 1, 500, PRUNED),
    "MinkUNet, MinkowskiEngine": ("minkunet/*34_w32_minkowski_*", 1, 500, MINKOWSKI),
    "MinkUNet, torchsparse": ("minkunet/*34_w32_torchsparse_8xb2-laser*", 1, 500, TORCHSPARSE),
    "MinkUNet, points": ("minkunet/*34v2_w32_torchsparse*", 1, 500, TORCHSPARSE),
    "SPVCNN": ("spvcnn/spvcnn_w32_8xb2-amp-15e*", 1, 500, TORCHSPARSE),
    "RetinaNet": ("retinanet/retinanet_r50_fpn_1x_coco", 4, 128, UPRIGHT),
    "RetinaNet, guided anchors": ("guided_anchoring/ga-retinanet_r50_fpn*", 4, 128, _GUIDED),
    "Faster R-CNN": ("faster_rcnn/faster-rcnn_r50_fpn_1x_coco", 4, 128, _ALIGNED),
    "Faster R-CNN, DCNv2": ("dcnv2/faster-rcnn_r50-mdconv-c3*", 4, 128, _ALIGNED | DEFORM),
    "Deformable DETR": ("deformable_detr/deformable-detr_r50_*", 4, 128, ATTENTION),
}

# Where a configuration has extents along x and y: in meters, in cells.
METERS = {"point_cloud_range": (0, 1, 3, 4), "ranges": (0, 1, 3, 4), "pc_range": (0, 1)}
CELLS = {"output_shape": (0, 1), "sparse_shape": (1, 2), "grid_size": (0, 1)}
# Where it has numbers of points and boxes to sample, which may be nested; -1 are all points.
SAMPLES = {
    *("num", "num_keypoints", "num_point", "num_points", "num_proposal", "num_sampled_points"),
    *("fps_sample_range_lists", "num_queries"),
}
# Random weights give low scores, and proposals that are far from the boxes.
SELECTION = {
    **{"score_thr": 0.0, "score_threshold": 0.0, "nms_pre": 100, "max_num": 200},
    **{"add_gt_as_proposals": True, "loc_filter_thr": 0.5, "pts_prune_threshold": 100},
}


def load():
    """Returns what is used of the packages."""
    mluop_omp.install()  # mmdet3d looks for MinkowskiEngine and torchsparse when it is imported.
    # Without spconv, mmdet3d uses mmcv's convolutions.
    spconv = {name: sys.modules.pop(name) for name in ["spconv"] if name in sys.modules}
    sys.modules["spconv"] = None
    try:
        importlib.import_module("mmdet3d.models")
    finally:
        del sys.modules["spconv"]
        sys.modules.update(spconv)
    importlib.import_module("mmengine.registry").init_default_scope("mmdet3d")
    importlib.import_module("mmengine.logging").MMLogger.get_current_instance().setLevel("ERROR")
    structures = importlib.import_module("mmdet3d.structures")
    return SimpleNamespace(
        packages=("mmdet", "mmdet3d"),
        Config=importlib.import_module("mmengine").Config,
        InstanceData=importlib.import_module("mmengine.structures").InstanceData,
        MODELS=importlib.import_module("mmdet3d.registry").MODELS,
        Sample=structures.Det3DDataSample,
        Boxes=structures.LiDARInstance3DBoxes,
        DepthBoxes=structures.DepthInstance3DBoxes,
        PointData=structures.PointData,
    )


def adapt(node, parts):
    """Divides extents along x and y, and numbers of samples; sets what boxes are selected from."""

    def divided(values, axes):
        return [value / parts if i in axes else value for i, value in enumerate(values)]

    def fewer(samples):
        if isinstance(samples, (list, tuple)):
            return type(samples)(map(fewer, samples))
        return samples // parts if samples > 0 else samples

    for key, value in node.items():
        if isinstance(value, dict):
            adapt(value, parts)
            if key == "rpn" and "sampler" in value:  # Boxes would shift the indices of anchors.
                value["sampler"]["add_gt_as_proposals"] = False
        elif isinstance(value, list) and all(isinstance(each, dict) for each in value):
            for each in value:
                adapt(each, parts)
        elif key == "ranges":
            node[key] = [divided(each, METERS[key]) for each in value]
        elif key in METERS:
            node[key] = divided(value, METERS[key])
        elif key in CELLS and isinstance(value, (list, tuple)):  # else of a RoI
            node[key] = [round(each) for each in divided(value, CELLS[key])]
        elif key in SAMPLES:
            node[key] = fewer(value)
        elif key in SELECTION and value is not None:
            node[key] = SELECTION[key]


def build(mm, pattern, parts=1, change=None):
    """Returns a model and its configuration; change(configuration) makes it smaller."""
    ((package, path),) = (
        (package, path)
        for package in mm.packages
        for path in Path(sys.modules[package].__file__).parent.glob(f".mim/configs/{pattern}.py")
    )
    config = mm.Config.fromfile(path).model
    adapt(config, parts)
    if change is not None:
        change(config)
    config._scope_ = package
    torch.manual_seed(0)
    model = mm.MODELS.build(config)
    for module in model.modules():
        adapt_module(module)
    return model, config


def adapt_module(module):
    """No dropout: its random numbers would belong to other elements if rounding changed an order.

    Random offsets of samples: initial offsets are 0, and their samples pixels.
    """
    for name in ("p", "dropout", "drop_prob"):
        if isinstance(getattr(module, name, None), float):
            setattr(module, name, 0.0)
    for name in ("conv_offset", "sampling_offsets"):
        for parameter in getattr(module, name, torch.nn.Identity()).parameters():
            torch.nn.init.normal_(parameter, std=0.05 if parameter.dim() > 1 else 0.5)


def scenes(mm, config, count):
    """Two scenes: boxes of pedestrians, bicycles and cars; points anywhere, and at the boxes."""
    encoder = config.get("pts_voxel_encoder") or config.voxel_encoder
    head = config.get("pts_bbox_head") or config.get("bbox_head") or config.rpn_head
    columns = encoder.get("in_channels", encoder.get("num_features", 4))
    classes = head.get("num_classes") or sum(task.num_class for task in head.tasks)
    low, high = np.reshape(config.data_preprocessor.voxel_layer.point_cloud_range, (2, 3))
    rng = np.random.default_rng(0)
    inputs, samples = {"points": []}, []
    for _ in range(2):
        label = np.arange(20) % classes
        boxes = rng.uniform(-1.5, 1.5, (20, head.bbox_coder.get("code_size", 7)))
        boxes[:, :3] = rng.uniform([*low[:2] + 2, -1.8], [*high[:2] - 2, -1.6], (20, 3))
        boxes[:, 3:6] = np.array([[0.8, 0.6, 1.7], [1.8, 0.6, 1.7], [3.9, 1.6, 1.6]])[label % 3]
        points = rng.uniform(0, 1, (count, columns))
        points[:, :3] = rng.uniform(low, high, (count, 3))
        of_box = boxes[rng.integers(0, 20, count // 2), :3] + [0, 0, 0.8]
        points[: count // 2, :3] = rng.normal(of_box, 0.5)
        # As PointsRangeFilter leaves them.
        points[:, :3] = points[:, :3].clip(low, high - 0.01)
        inputs["points"].append(torch.from_numpy(points).float())
        samples.append(mm.Sample(metainfo={"box_type_3d": mm.Boxes}))
        samples[-1].gt_instances_3d = mm.InstanceData(
            bboxes_3d=mm.Boxes(torch.from_numpy(boxes).float(), box_dim=boxes.shape[1]),
            labels_3d=torch.from_numpy(label),
        )
    if "img_backbone" in config:
        H, W, focal = 96, 320, 180.0
        inputs["img"] = list(torch.from_numpy(rng.uniform(0, 255, (2, 3, H, W))).float())
        camera = [[W / 2, -focal, 0, 0], [H / 2, 0, -focal, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
        for sample in samples:
            sample.set_metainfo({"lidar2img": np.array(camera), "img_shape": (H, W)})
    return {"inputs": inputs, "data_samples": samples}


def room(rng, count):
    """Returns boxes [8, 7], points [count, 3], and the box of each; of a quarter none, the last."""
    boxes = rng.uniform(-1.5, 1.5, (8, 7))
    boxes[:, :3] = rng.uniform([0.6, 0.6, 0.6], [4.4, 4.4, 1.2], (8, 3))
    boxes[:, 3:6] = rng.uniform(0.6, 1.2, (8, 3))
    box = rng.integers(0, 8, count)
    points = boxes[box, :3] + rng.uniform(-0.5, 0.5, (count, 3)) * boxes[box, 3:6]
    points[::4], box[::4] = rng.uniform(0, [5, 5, 2.5], points[::4].shape), 8
    return boxes, points, box


def rooms(mm, config, count):
    """Two rooms, to train with and to predict of."""
    head = config.get("bbox_head") or config.get("rpn_head") or config.decode_head
    columns = config.backbone.get("backbones", config.backbone).in_channels
    if config.backbone.type == "MinkResNet":  # The coordinates are no features.
        columns += 3
    box_type = mm.Boxes if config.type in ("PointRCNN", "SSD3DNet") else mm.DepthBoxes
    is_segmentor = "decode_head" in config
    coder = head.get("bbox_coder", {"with_rot": head.get("num_reg_outs") == 8})
    with_yaw = not is_segmentor and coder.get("with_rot", True)
    box_dim = 7 if with_yaw else 6
    rng, inputs, samples = np.random.default_rng(0), [], []
    for _ in range(2):
        boxes, points, box = room(rng, count)
        label = np.arange(8) % head.num_classes
        features = rng.uniform(0, 1, (count, columns - 3))
        if is_segmentor:  # A square meter, with relative coordinates as last columns.
            points /= 5
            features[:, 3:] = points / points.max(0)
        inputs.append(torch.from_numpy(np.concatenate((points, features), 1)).float())
        boxes = torch.from_numpy(boxes[:, :box_dim]).float()
        samples.append(mm.Sample(metainfo={"box_type_3d": box_type}))
        samples[-1].gt_instances_3d = mm.InstanceData(
            bboxes_3d=box_type(boxes, box_dim, with_yaw, origin=(0.5, 0.5, 0.5)),
            labels_3d=torch.from_numpy(label),
        )
        samples[-1].gt_pts_seg = mm.PointData(
            pts_semantic_mask=torch.from_numpy(np.append(label, head.num_classes)[box]),
            pts_instance_mask=torch.from_numpy(box),
        )
    # When it predicts, a segmentor computes these columns itself.
    predicted = [points[:, :6] if is_segmentor else points for points in inputs]
    return tuple(
        {"inputs": {"points": points}, "data_samples": samples} for points in (inputs, predicted)
    )


def sweeps(mm, config, count):
    """Two sweeps of a lidar, of what is in front of it; each class is a slice."""
    rng, classes = np.random.default_rng(0), config.decode_head.num_classes
    points = rng.normal([10, 0, 0, 0], [0.5, 0.5, 0.2, 1], (2, count, 4))
    label = ((points[..., 0] - 9) / 2 * classes).clip(0, classes - 1).astype(int)
    masks = [mm.PointData(pts_semantic_mask=each) for each in torch.from_numpy(label)]
    return {
        "inputs": {"points": list(torch.from_numpy(points).float())},
        "data_samples": [mm.Sample(gt_pts_seg=mask) for mask in masks],
    }


def batch_of_images(rows, make_sample):
    """Two images of random pixels; make_sample(rng, size) returns the labels of one."""
    rng, size = np.random.default_rng(0), (rows, rows * 5 // 4)
    inputs, samples = [], []
    for _ in range(2):
        samples.append(make_sample(rng, size))
        inputs.append(torch.from_numpy(rng.uniform(0, 255, (3, *size))).float())
        meta = {"img_shape": size, "ori_shape": size, "scale_factor": (1.0, 1.0)}
        samples[-1].set_metainfo(meta)
    return {"inputs": inputs, "data_samples": samples}


def images(mm, config, rows):
    """Two images, and boxes in them."""
    head = config.get("bbox_head") or config.get("panoptic_head") or config.roi_head.bbox_head
    classes = head.get("num_classes") or head.num_things_classes

    def make_sample(rng, size):
        corners = rng.uniform(0, 0.7, (8, 2))
        boxes = np.concatenate((corners, corners + rng.uniform(0.05, 0.3, (8, 2))), 1)
        sample = mm.Sample()
        sample.gt_instances = mm.InstanceData(
            bboxes=torch.from_numpy(boxes * (*size[::-1], *size[::-1])).float(),
            labels=torch.from_numpy(np.arange(8) % classes),
        )
        return sample

    return batch_of_images(rows, make_sample)


def mend(model, name):
    """Replaces what fails in the packages, on every device or on all but CUDA."""
    if name == "H3DNet":
        # Its head adds to the result of a ReLU in place, which autograd refuses.
        activated = model.roi_head.bbox_head.bbox_pred[0]
        activated.register_forward_hook(lambda module, inputs, output: output.clone())
    if name == "MinkUNet":
        # It states the spatial shape as a tensor, of which mmcv's layers take np.prod. An odd shape
        # would lose its last sites in the next level, which the forms of other libraries keep.
        of_mmcv = importlib.import_module("mmcv.ops").SparseConvTensor
        sys.modules[type(model.backbone).__module__].SparseConvTensor = (
            lambda features, coors, shape, batch: of_mmcv(
                features, coors, (shape + 15).div(16, rounding_mode="floor").mul(16).tolist(), batch
            )
        )


def network(mm, name, is_full_size=False):
    """Returns the model, a batch to train with, and one to predict of.

    The full size is the size in the configuration, with as many more points in a scene.
    """
    pattern, parts, count, _ = NETWORKS[name]
    model, config = build(mm, pattern, 1 if is_full_size else parts)
    with_voxels = "voxel_layer" in config.data_preprocessor
    if is_full_size:
        count *= parts**2 if with_voxels else parts
    mend(model, name)
    if name == "PartA2":
        model.roi_head.init_weights()  # Others predict boxes that are too large to train with.
    if name == "Deformable DETR":
        torch.nn.init.normal_(model.level_embed)  # Its constructor leaves them unwritten.
    if config._scope_ == "mmdet":
        data = images(mm, config, count)
        return model, data, data
    if with_voxels:
        data = (sweeps if "decode_head" in config else scenes)(mm, config, count)
        return model, data, data
    if "decode_head" in config:
        model.test_cfg.num_points = count
    return model, *rooms(mm, config, count)


def train(model, data, autocast=False):
    """One step; returns the losses, and the gradients by their names. Autocast is to bfloat16."""
    torch.manual_seed(0)  # of the order of proposals
    model.train()
    with mluop_omp.no_cuda(), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        losses = model(**model.data_preprocessor(copy.deepcopy(data), True), mode="loss")
    total, losses = model.parse_losses(losses)
    total.backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    torch.optim.SGD(model.parameters(), lr=1e-4).step()
    return {name: value.detach() for name, value in losses.items()}, gradients


@torch.no_grad()
def predict(model, data):
    """Returns boxes, scores and labels of each scene, or scores of points, by their names.

    Scene by scene: the head of GroupFree3D returns the boxes of the last one for each.
    """
    torch.manual_seed(0)  # of the order of points
    model.eval()
    kinds = ("pred_instances_3d", "pred_instances", "pts_seg_logits", "seg_logits")
    predictions = []
    for i, sample in enumerate(data["data_samples"]):
        inputs, one = data["inputs"], slice(i, i + 1)  # a list of images, or lists by their names
        inputs = {k: v[one] for k, v in inputs.items()} if isinstance(inputs, dict) else inputs[one]
        scene = copy.deepcopy({"inputs": inputs, "data_samples": [sample]})
        with mluop_omp.no_cuda():
            (found,) = model(**model.data_preprocessor(scene, False), mode="predict")
        found = next(found.get(kind) for kind in kinds if kind in found)
        predictions.append({key: getattr(each, "tensor", each) for key, each in found.items()})
    return predictions
