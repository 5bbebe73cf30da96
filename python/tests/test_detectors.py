"""Detectors of mmdetection3d and mmdetection: a step of training, and a prediction.

Their code and configurations are those of the packages; weights and scenes are random. Each network
is computed twice: with mluop_omp, and with the definitions below as mmcv's kernels. Losses,
gradients, boxes, scores and labels have to agree.
"""

from __future__ import annotations

import copy
import importlib
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import reference
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

# Where a configuration has extents along x and y: in meters, in cells.
METERS = {"point_cloud_range": (0, 1, 3, 4), "ranges": (0, 1, 3, 4), "pc_range": (0, 1)}
CELLS = {"output_shape": (0, 1), "sparse_shape": (1, 2), "grid_size": (0, 1)}
# Random weights give low scores.
SELECTION = {"score_thr": 0.0, "score_threshold": 0.0, "nms_pre": 100, "max_num": 200}


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
    )


def adapt(node, parts):
    """Divides extents along x and y, and sets how many boxes a prediction selects from."""

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
    """Returns boxes, scores and labels of each scene, by their names."""
    model.eval()
    samples = model(**model.data_preprocessor(copy.deepcopy(data), False), mode="predict")
    found = [sample.get("pred_instances_3d", sample.get("pred_instances")) for sample in samples]
    return [{key: getattr(each, "tensor", each) for key, each in f.items()} for f in found]


# Functions of mmcv._ext, in double.


def hard_voxelize_forward(
    points, size, bounds, voxels, coors, counts, voxel_num, max_points, max_voxels, **_
):
    arguments = points.numpy(), size.tolist(), bounds.tolist(), max_points, max_voxels
    results = reference.voxelization(*arguments)
    for output, result in zip((voxels, coors, counts), results):
        output[: len(result)] = torch.from_numpy(result)
    voxel_num.fill_(len(results[0]))


def dynamic_voxelize_forward(points, size, bounds, coors, NDim):
    low, high = bounds.view(2, 3)
    cell = ((points[:, :3] - low) / size).floor()
    inside = (cell >= 0) & (cell < ((high - low) / size).round())
    coors.copy_(torch.where(inside.all(1, keepdim=True), cell, -1).flip(1))


def reduced(feats, rank, num, kind):
    index = rank.long().unsqueeze(1).expand(-1, feats.shape[1])
    kind = {"max": "amax"}.get(kind, kind)
    zeros = feats.new_zeros(num, feats.shape[1])
    return zeros.scatter_reduce(0, index, feats, kind, include_self=False)


def dynamic_point_to_voxel_forward(feats, coors, kind):
    assert (coors >= 0).all()
    voxels, rank, counts = coors.unique(dim=0, return_inverse=True, return_counts=True)
    out = reduced(feats.double(), rank, len(voxels), kind)
    return [out.to(feats.dtype), voxels, rank.int(), counts.int()]


def dynamic_point_to_voxel_backward(grad_feats, grad, feats, voxel_feats, rank, counts, kind):
    grad_feats.copy_(gradients(lambda x: reduced(x, rank, len(grad), kind), grad, feats)[0])


def gradients(function, grad, *arguments):
    with torch.enable_grad():
        variables = [each.detach().double().requires_grad_() for each in arguments]
        return torch.autograd.grad(function(*variables), variables, grad.double())


def get_indice_pairs_3d_forward(
    sites, batch, out_space, space, kernel, stride, pad, dilation, out_padding, subm, transposed
):
    # mmcv's submanifold convolutions are centered whatever their stride and padding are.
    stride, pad = ([1] * 3, [k // 2 for k in kernel]) if subm else (stride, pad)
    offsets = torch.cartesian_prod(*map(torch.arange, kernel)).unsqueeze(1)
    scaled = sites[:, 1:] + torch.tensor(pad) - offsets * torch.tensor(dilation)
    cells = scaled.div(torch.tensor(stride), rounding_mode="floor")
    valid = (cells * torch.tensor(stride) == scaled) & (cells >= 0)
    valid = (valid & (cells < torch.tensor(out_space))).all(2)
    strides = torch.tensor([math.prod(out_space[i:]) for i in range(4)])
    keys = sites[:, 0] * strides[0] + (cells * strides[1:]).sum(2)
    of_outputs = (sites * strides).sum(1) if subm else keys[valid].unique()
    ordered, order = of_outputs.sort()
    position = torch.searchsorted(ordered, keys).clamp(max=len(ordered) - 1)
    found = valid & (ordered[position] == keys)
    offset, row = found.nonzero().unbind(1)
    slot = (found.cumsum(1) - 1)[offset, row]
    pairs = torch.full((len(keys), 2, len(sites)), -1, dtype=torch.int32)
    pairs[offset, 0, slot] = row.int()
    pairs[offset, 1, slot] = order[position[offset, row]].int()
    outputs = torch.stack(torch.unravel_index(of_outputs, (int(batch), *out_space)), 1).int()
    return [outputs, pairs, found.sum(1).int()]


def convolved(features, filters, pairs, num, num_out):
    out = features.new_zeros(num_out, filters.shape[-1])
    for each, count, matrix in zip(pairs, num, filters.flatten(0, 2)):
        inputs, outputs = each[:, :count].long()
        out = out.index_add(0, outputs, features.index_select(0, inputs) @ matrix)
    return out


def indice_conv_forward(features, filters, pairs, num, num_out, inverse, subm):
    return convolved(features.double(), filters.double(), pairs, num, num_out).to(features.dtype)


def indice_conv_backward(features, filters, grad, pairs, num, inverse, subm):
    found = gradients(lambda x, w: convolved(x, w, pairs, num, len(grad)), grad, features, filters)
    return [each.to(features.dtype) for each in found]


def nms_rotated(dets, scores, order, dets_sorted, labels, iou_threshold, multi_label):
    """Without labels, which mmdet3d does not use."""
    shapely = importlib.import_module("shapely")
    x, y, w, h, yaw = dets.double().numpy().T[:, :, None]
    u, v = w / 2 * [-1, 1, 1, -1], h / 2 * [-1, -1, 1, 1]
    cos, sin = np.cos(yaw), np.sin(yaw)
    boxes = shapely.polygons(np.stack([x + u * cos - v * sin, y + u * sin + v * cos], 2))

    def overlap(i, others):
        return shapely.area(shapely.intersection(boxes[i], boxes[others]))

    return suppress(scores, shapely.area(boxes), overlap, iou_threshold)


def nms(boxes, scores, iou_threshold, offset):
    low, high = boxes[:, :2].double().numpy(), boxes[:, 2:].double().numpy() + offset

    def overlap(i, others):
        sides = np.minimum(high[i], high[others]) - np.maximum(low[i], low[others])
        return sides.clip(min=0).prod(1)

    return suppress(scores, (high - low).prod(1), overlap, iou_threshold)


def suppress(scores, areas, overlap, iou_threshold):
    keep, rest = [], np.argsort(-scores.numpy(), kind="stable")
    while len(rest):
        best, rest = rest[0], rest[1:]
        keep.append(best)
        common = overlap(best, rest)
        rest = rest[common <= iou_threshold * (areas[best] + areas[rest] - common)]
    return torch.tensor(keep)


def install_definitions(patch):
    """Returns the set of the functions that have been called.

    What a kernel returns is compared at each call: given the same arguments, it differs by rounding
    only, which the layers of a network amplify.
    """
    called, extension = set(), sys.modules["mmcv._ext"]

    def checked(name, kernel, definition):
        def function(*arguments, **named):
            called.add(name)
            expected = definition(*arguments, **named)
            if expected is not None:
                actual = kernel(*arguments, **named)
                torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
            return expected

        patch.setattr(extension, name, function)

    for name in HARD | DYNAMIC | SPARSE | ROTATED | UPRIGHT:
        checked(name, getattr(extension, name), globals()[name])
    return called


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


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name, mm, monkeypatch):
    pattern, parts, kernels = NETWORKS[name]
    model, config = build(mm, pattern, parts)
    copied, data = copy.deepcopy(model), scenes(mm, config)
    losses, gradients = train(model, data)
    prediction = predict(model, data)
    called = install_definitions(monkeypatch)
    expected_losses, expected_gradients = train(copied, data)
    # Voxels of points are copies: all that follows from them is the same.
    is_exact = not kernels - HARD - ROTATED
    compare(prediction, predict(model, data), 1.0 if is_exact else 0.95)
    assert called == kernels
    torch.testing.assert_close(losses, expected_losses, rtol=1e-5, atol=1e-5)
    assert gradients.keys() == expected_gradients.keys()
    # Biases in front of a normalization have no gradient but rounding.
    tolerance = 0 if is_exact else 0.05
    least = 1e-4 * max(expected.norm() for expected in expected_gradients.values())
    for parameter, expected in expected_gradients.items():
        difference = (gradients[parameter] - expected).norm()
        assert difference <= tolerance * max(expected.norm(), least), parameter


def test_retinanet_predicts(mm, monkeypatch):
    model, _ = build(mm, "retinanet/retinanet_r50_fpn_1x_coco", package="mmdet")
    image = torch.from_numpy(np.random.default_rng(0).uniform(0, 255, (3, 256, 320))).float()
    meta = {"img_shape": (256, 320), "scale_factor": (1.0, 1.0)}
    data = {"inputs": [image], "data_samples": [mm.Sample(metainfo=meta)]}
    prediction = predict(model, data)
    called = install_definitions(monkeypatch)
    compare(prediction, predict(model, data))
    assert called == UPRIGHT
