"""Detectors of mmdetection3d and mmdetection: a step of training, and a prediction.

Their code and configurations are those of the packages; weights and scenes are random. Each network
is computed twice: with mluop_omp, and with definitions.py as mmcv's kernels. Losses, gradients,
boxes, scores and labels have to agree.
"""

from __future__ import annotations

import copy
import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import definitions
import numpy as np
import pytest
import torch

pytestmark = [
    pytest.mark.detectors,
    pytest.mark.skipif(not find_spec("mmdet3d"), reason="requires mmdet3d and mmdet"),
]

HARD = {"hard_voxelize_forward"}
MEAN = {"dynamic_voxelize_forward", "dynamic_point_to_voxel_forward"}
DYNAMIC = MEAN | {"dynamic_point_to_voxel_backward"}
SPARSE = {"get_indice_pairs_3d_forward", "indice_conv_forward", "indice_conv_backward"}
ROTATED = {"nms_rotated"}
UPRIGHT = {"nms"}
SAMPLE = {"furthest_point_sampling_forward", "gather_points_forward"}
SAMPLE_FEATURES = {"furthest_point_sampling_with_dist_forward"}
SAMPLE_VOTES = SAMPLE | {"gather_points_backward"}
GROUP = {"group_points_forward", "group_points_backward"}
BALLS = GROUP | {"ball_query_forward"}
NEIGHBORS = GROUP | {"knn_forward"}
INTERPOLATE = {"three_nn_forward", "three_interpolate_forward", "three_interpolate_backward"}
INSIDE = {"points_in_boxes_all_forward"}

# The configuration; by what its extents along x and y are divided; the kernels that it calls.
NETWORKS = {
    "CenterPoint of pillars": ("centerpoint/centerpoint_pillar02_*fpn_8xb4*", 4, HARD | ROTATED),
    "CenterPoint, circle NMS": ("centerpoint/centerpoint_pillar02_*head-circlenms_*", 4, HARD),
    "CenterPoint": ("centerpoint/centerpoint_voxel01_*fpn_8xb4*", 4, HARD | SPARSE | ROTATED),
    "SECOND": ("second/second_hv_secfpn_8xb6-80e_kitti-3d-3class*", 4, HARD | SPARSE | ROTATED),
    "SECOND, dynamic": ("dynamic_voxelization/second_*3class*", 4, MEAN | SPARSE | ROTATED),
    "PointPillars": ("pointpillars/*_kitti-3d-3class*", 2, HARD | ROTATED),
    "PointPillars, dynamic": ("dynamic_voxelization/pointpillars_*", 2, DYNAMIC | ROTATED),
    "PointPillars, nuScenes": ("pointpillars/*_fpn_sbn-all_8xb4-2x_nus*", 4, HARD | ROTATED),
    "SSN": ("ssn/ssn_hv_secfpn_*nus*", 2, HARD | ROTATED),
    "MVX-Net": ("mvxnet/*3class*", 4, DYNAMIC | SPARSE | ROTATED),
}

# The configuration; the points of a scene; the kernels that it calls.
_VOTES = SAMPLE_VOTES | BALLS | INTERPOLATE | INSIDE
_SEGMENTS = SAMPLE | INTERPOLATE
POINT_NETWORKS = {
    "VoteNet": ("votenet/votenet_8xb16_sunrgbd-3d", 3000, _VOTES),
    "GroupFree3D": ("groupfree3d/*_head-L6-O256_*", 3000, _VOTES),
    "H3DNet": ("h3dnet/h3dnet_*", 3000, _VOTES),
    "3DSSD": ("3dssd/3dssd_*", 5000, SAMPLE | SAMPLE_FEATURES | BALLS | INSIDE | UPRIGHT),
    "PointNet++, one scale": ("pointnet2/*_ssg_*_s3dis-seg", 2048, _SEGMENTS | BALLS),
    "PointNet++, several scales": ("pointnet2/*_msg_*_s3dis-seg", 2048, _SEGMENTS | BALLS),
    "PAConv": ("paconv/paconv_ssg_8xb8*", 2048, _SEGMENTS | NEIGHBORS),
    "DGCNN": ("dgcnn/*_test-area5", 512, NEIGHBORS),
}

# Where a configuration has extents along x and y: in meters, in cells.
METERS = {"point_cloud_range": (0, 1, 3, 4), "ranges": (0, 1, 3, 4), "pc_range": (0, 1)}
CELLS = {"output_shape": (0, 1), "sparse_shape": (1, 2), "grid_size": (0, 1)}
# Random weights give low scores.
SELECTION = {"score_thr": 0.0, "score_threshold": 0.0, "nms_pre": 100, "max_num": 200}
# Its random numbers would belong to other elements if rounding changed an order.
DROPOUT = {"attn_drop": 0.0, "drop_prob": 0.0, "ffn_drop": 0.0, "dropout_ratio": 0.0}


@pytest.fixture(scope="module")
def mm():
    """What the tests use of these packages. Without spconv, mmdet3d uses mmcv's convolutions."""
    importlib.import_module("mluop_omp.mmcv.auto")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "spconv", None)
        importlib.import_module("mmdet3d.models")
    importlib.import_module("mmengine.registry").init_default_scope("mmdet3d")
    importlib.import_module("mmengine.logging").MMLogger.get_current_instance().setLevel("ERROR")
    structures = importlib.import_module("mmdet3d.structures")
    return SimpleNamespace(
        Config=importlib.import_module("mmengine").Config,
        InstanceData=importlib.import_module("mmengine.structures").InstanceData,
        MODELS=importlib.import_module("mmdet3d.registry").MODELS,
        Sample=structures.Det3DDataSample,
        Boxes=structures.LiDARInstance3DBoxes,
        DepthBoxes=structures.DepthInstance3DBoxes,
        PointData=structures.PointData,
    )


def adapt(node, parts):
    """Divides extents along x and y, and sets how many boxes are selected from. No dropout."""

    def divided(values, axes):
        return [value / parts if i in axes else value for i, value in enumerate(values)]

    for key, value in node.items():
        if isinstance(value, dict):
            adapt(value, parts)
        elif key == "ranges":
            node[key] = [divided(each, METERS[key]) for each in value]
        elif key in METERS:
            node[key] = divided(value, METERS[key])
        elif key in CELLS:
            node[key] = [round(each) for each in divided(value, CELLS[key])]
        elif key in SELECTION:
            node[key] = SELECTION[key]
        elif key in DROPOUT:
            node[key] = DROPOUT[key]


def build(mm, pattern, parts=1, package="mmdet3d"):
    configs = Path(sys.modules[package].__file__).parent / ".mim" / "configs"
    (path,) = configs.glob(f"{pattern}.py")
    config = mm.Config.fromfile(path).model
    adapt(config, parts)
    config._scope_ = package
    torch.manual_seed(0)
    return mm.MODELS.build(config), config


def scenes(mm, config):
    """Two scenes: boxes of pedestrians, bicycles and cars; points anywhere, and at the boxes."""
    encoder = config.get("pts_voxel_encoder") or config.voxel_encoder
    head = config.get("pts_bbox_head") or config.bbox_head
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
        points = rng.uniform(0, 1, (2000, columns))
        points[:, :3] = rng.uniform(low, high, (2000, 3))
        points[:1000, :3] = rng.normal(boxes[rng.integers(0, 20, 1000), :3] + [0, 0, 0.8], 0.5)
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


def point_scenes(mm, config, count):
    """Two rooms, to train with and to predict of."""
    head = config.get("bbox_head") or config.get("rpn_head") or config.decode_head
    columns = config.backbone.get("backbones", config.backbone).in_channels
    box_type = mm.Boxes if config.type == "SSD3DNet" else mm.DepthBoxes
    is_segmentor = "decode_head" in config
    with_yaw = not is_segmentor and head.bbox_coder.with_rot
    box_dim = 7 if with_yaw else 6
    rng, inputs, samples = np.random.default_rng(0), [], []
    for _ in range(2):
        boxes, points, box = room(rng, count)
        label = np.arange(8) % head.num_classes
        features = rng.uniform(0, 1, (count, columns - 3))
        if is_segmentor:  # Of a square meter, with relative coordinates as last columns.
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


def train(model, data):
    """One step; returns the losses, and the gradients by their names."""
    model.train()
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
    kinds = ("pred_instances_3d", "pred_instances", "pts_seg_logits")
    predictions = []
    for i, sample in enumerate(data["data_samples"]):
        inputs = data["inputs"]  # a list of images, or lists of points and images
        if isinstance(inputs, dict):
            inputs = {key: each[i : i + 1] for key, each in inputs.items()}
        scene = copy.deepcopy({"inputs": inputs, "data_samples": [sample]})
        (found,) = model(**model.data_preprocessor(scene, False), mode="predict")
        found = next(found.get(kind) for kind in kinds if kind in found)
        predictions.append({key: getattr(each, "tensor", each) for key, each in found.items()})
    return predictions


def rows(prediction):
    """A row for each box: coordinates, score, label. Boxes of equal scores have no order."""
    columns = [each.view(len(each), -1).double() for each in prediction.values()]
    return torch.cat(columns, 1)


def compare(prediction, expected, least=1.0):
    """Compares the boxes of each scene, of which at least this share has to be the same.

    Where features differ by rounding, a box whose IoU with another one is near the threshold may be
    kept in one of both.
    """
    for actual, expected_rows in zip(map(rows, prediction), map(rows, expected)):
        assert min(len(actual), len(expected_rows)) > 10
        distance = torch.cdist(actual, expected_rows, float("inf"))
        for nearest in (distance.amin(0), distance.amin(1)):
            assert (nearest < 1e-3).double().mean() >= least


def check(model, data, test_data, kernels, patch):
    """Compares a step and a prediction with those of the definitions of these kernels."""
    twin = copy.deepcopy(model)
    losses, gradients = train(model, data)
    prediction = predict(model, test_data)
    called = definitions.install(patch)
    expected_losses, expected_gradients = train(twin, data)
    # Voxels of points are copies: all that follows from them is the same.
    is_exact = not kernels - HARD - ROTATED
    compare(prediction, predict(model, test_data), 1.0 if is_exact else 0.95)
    assert called == kernels
    torch.testing.assert_close(losses, expected_losses, rtol=1e-5, atol=1e-5)
    assert gradients.keys() == expected_gradients.keys()
    # Biases in front of a normalization have no gradient but rounding.
    tolerance = 0 if is_exact else 0.05
    least = 1e-4 * max(expected.norm() for expected in expected_gradients.values())
    for parameter, expected in expected_gradients.items():
        difference = (gradients[parameter] - expected).norm()
        assert difference <= tolerance * max(expected.norm(), least), parameter


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name, mm, monkeypatch):
    pattern, parts, kernels = NETWORKS[name]
    model, config = build(mm, pattern, parts)
    data = scenes(mm, config)
    check(model, data, data, kernels, monkeypatch)


@pytest.mark.parametrize("name", POINT_NETWORKS)
def test_network_of_points(name, mm, monkeypatch):
    pattern, count, kernels = POINT_NETWORKS[name]
    model, config = build(mm, pattern)
    if "decode_head" in config:
        model.test_cfg.num_points = count
    if name == "H3DNet":
        # Its head adds to the result of a ReLU in place, which autograd refuses on every device.
        activated = model.roi_head.bbox_head.bbox_pred[0]
        activated.register_forward_hook(lambda module, inputs, output: output.clone())
    check(model, *point_scenes(mm, config, count), kernels, monkeypatch)


def test_retinanet_predicts(mm, monkeypatch):
    model, _ = build(mm, "retinanet/retinanet_r50_fpn_1x_coco", package="mmdet")
    image = torch.from_numpy(np.random.default_rng(0).uniform(0, 255, (3, 256, 320))).float()
    meta = {"img_shape": (256, 320), "scale_factor": (1.0, 1.0)}
    data = {"inputs": [image], "data_samples": [mm.Sample(metainfo=meta)]}
    prediction = predict(model, data)
    called = definitions.install(monkeypatch)
    compare(prediction, predict(model, data))
    assert called == UPRIGHT
