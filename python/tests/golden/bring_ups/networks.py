"""Networks with random weights and small inputs, for references and devices."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import warnings
from typing import Any, Callable

import torch
from torch import nn

import mluop_omp
import mluop_omp.torch

SEED = torch.Generator().manual_seed
NETWORKS: dict[str, Callable[[], Network]] = {}


@dataclasses.dataclass
class Network:
    """A model and its arguments.

    Attributes:
        with_autocast: whether half precision needs torch.autocast: the model has operations of
            float32 only.
    """

    model: nn.Module
    inputs: tuple
    with_autocast: bool = False


def network(name: str) -> Callable[[Callable[[], Network]], Callable[[], Network]]:
    def add(make: Callable[[], Network]) -> Callable[[], Network]:
        NETWORKS[name] = make
        return make

    return add


def build(name: str) -> Network:
    """Returns a network in eval mode; the same one at every call."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = NETWORKS[name]()
    for module in made.model.modules():
        for attribute in ("p", "dropout", "drop_prob"):
            if isinstance(getattr(module, attribute, None), float):
                setattr(module, attribute, 0.0)
    made.model.eval().requires_grad_(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        normalize(made)
    return made


def normalize(net: Network) -> None:
    """Gives each BatchNorm random weights, and roughly the statistics of its own inputs."""
    generator = SEED(1)

    def before(norm: nn.Module, args: tuple) -> None:
        x = args[0].transpose(0, 1).flatten(1)
        if x.shape[1] > 1:
            deviation = x.std(1)
            deviation = torch.hypot(deviation, deviation.mean() / 2 + 1e-3)  # No tiny channel.
            shift = torch.empty_like(deviation).normal_(0, 0.1, generator=generator)
            norm.running_mean.copy_(x.mean(1) + shift * deviation)
            scale = torch.empty_like(deviation).uniform_(0.7, 1.3, generator=generator)
            norm.running_var.copy_((deviation * scale) ** 2)

    handles = []
    for module in net.model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_var is not None:
            nn.init.uniform_(module.weight, 0.5, 1.5, generator=generator)
            nn.init.normal_(module.bias, 0, 0.1, generator=generator)
            handles.append(module.register_forward_pre_hook(before))
    with torch.no_grad():
        net.model(*copy.deepcopy(net.inputs))
    for handle in handles:
        handle.remove()


def image(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=SEED(2))


def torchvision() -> Any:
    """PyPI's torchvision is compiled for CUDA: this package stands in for its operators."""
    if "torchvision" not in _LIBRARIES:
        library = _LIBRARIES["torchvision"] = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.impl("nms", nms, "CPU")
    package = importlib.import_module("torchvision")
    package.ops.boxes._assert_has_ops = lambda: None
    package.ops.poolers.roi_align = roi_align
    return package


_LIBRARIES: dict[str, torch.library.Library] = {}


def nms(boxes: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    return mluop_omp.torch.nms(boxes.float(), scores.float(), iou_threshold).long()


def roi_align(
    input: torch.Tensor,
    boxes: torch.Tensor,
    output_size: tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> torch.Tensor:
    samples = max(0, sampling_ratio)
    arguments = (output_size, spatial_scale, samples, "mean", aligned)
    return mluop_omp.torch.roi_align(input.float(), boxes.float(), *arguments)[0].to(input.dtype)


@network("ResNet-18")
def _() -> Network:
    resnet = torchvision().models.resnet

    class Narrow(resnet.ResNet):
        def _make_layer(self, block: Any, planes: int, *args: Any, **options: Any) -> nn.Module:
            return super()._make_layer(block, planes // 4, *args, **options)

    model = Narrow(resnet.BasicBlock, [2, 2, 2, 2])
    model.fc = nn.Linear(128, 10)
    return Network(model, (image(2, 3, 48, 48),))


@network("MobileNetV3")
def _() -> Network:
    model = torchvision().models.mobilenet_v3_small(num_classes=10, width_mult=0.5)
    return Network(model, (image(2, 3, 48, 48),))


@network("LRASPP")
def _() -> Network:
    models = torchvision().models.segmentation
    model = models.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return Network(model, (image(1, 3, 64, 64),))


@network("SSDLite")
def _() -> Network:
    models = torchvision().models.detection
    model = models.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=5, score_thresh=0.1, detections_per_img=50
    )
    model.transform.fixed_size = (96, 96)
    return Network(model, ([image(3, 96, 96).sigmoid()],), with_autocast=True)


@network("Faster R-CNN")
def _() -> Network:
    detection = torchvision().models.detection
    model = detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        **{"weights": None, "weights_backbone": None, "num_classes": 5},
        **{"min_size": 96, "max_size": 128, "rpn_pre_nms_top_n_test": 50},
        **{"rpn_post_nms_top_n_test": 20, "box_detections_per_img": 20},
    )
    heads = detection.faster_rcnn
    model.roi_heads.box_head = heads.TwoMLPHead(256 * 7**2, 32)
    model.roi_heads.box_predictor = heads.FastRCNNPredictor(32, 5)
    return Network(model, ([image(3, 96, 96).sigmoid()],), with_autocast=True)


def timm(name: str, **arguments: Any) -> nn.Module:
    torchvision()
    return importlib.import_module("timm").create_model(name, num_classes=10, **arguments)


@network("ViT tiny")
def _() -> Network:
    model = timm("vit_tiny_patch16_224", img_size=48, depth=4, embed_dim=96)
    return Network(model, (image(2, 3, 48, 48),))


@network("Swin tiny")
def _() -> Network:
    model = timm(
        "swin_tiny_patch4_window7_224",
        **{"img_size": 48, "window_size": 3, "embed_dim": 32, "num_heads": (2, 4, 8, 16)},
    )
    return Network(model, (image(2, 3, 48, 48),))


@network("ConvNeXt atto")
def _() -> Network:
    model = timm("convnext_atto", dims=(16, 32, 64, 128))
    return Network(model, (image(2, 3, 48, 48),))


@network("EfficientNet-B0")
def _() -> Network:
    model = timm("efficientnet_b0")
    return Network(model, (image(2, 3, 48, 48),))


class Predictor(nn.Module):
    """A detector of mmdetection or mmdetection3d from its raw data to its predictions."""

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, data: Any) -> list[dict[str, Any]]:
        torch.manual_seed(0)  # of the order of points
        with mluop_omp.no_cuda():
            inputs = self.detector.data_preprocessor(copy.deepcopy(data), False)
            results = self.detector(**inputs, mode="predict")
        kinds = ("pred_instances_3d", "pred_instances")
        found = [next(each.get(kind) for kind in kinds if kind in each) for each in results]
        return [{key: getattr(v, "tensor", v) for key, v in each.items()} for each in found]


def detector(
    pattern: str, parts: int = 4, size: int = 64, change: Callable[[Any], None] | None = None
) -> Network:
    """A network of detectors.py; change: makes its configuration smaller."""
    torchvision()
    detectors = importlib.import_module("detectors")
    mm = detectors.load()
    pattern = detectors.NETWORKS[pattern][0] if pattern in detectors.NETWORKS else pattern
    model, config = detectors.build(mm, pattern, parts, change)
    if config._scope_ == "mmdet":
        data = detectors.images(mm, config, size)
    elif "voxel_layer" in config.data_preprocessor:
        data = detectors.scenes(mm, config, size)
    else:
        data = detectors.rooms(mm, config, size)[1]
    inputs = data["inputs"]
    one = {k: v[:1] for k, v in inputs.items()} if isinstance(inputs, dict) else inputs[:1]
    data = {"inputs": one, "data_samples": data["data_samples"][:1]}
    return Network(Predictor(model), (data,), with_autocast=True)


def near(config: Any, extent: float, cells: int) -> None:
    """Keeps a square in front of the lidar, of this extent and of this number of cells."""
    area = [0, -extent / 2, extent, extent / 2]
    layer = config.data_preprocessor.voxel_layer
    low, high = layer.point_cloud_range[2], layer.point_cloud_range[5]
    layer.point_cloud_range = [*area[:2], low, *area[2:], high]
    if "point_cloud_range" in config.voxel_encoder:
        config.voxel_encoder.point_cloud_range = layer.point_cloud_range
    generator = config.bbox_head.anchor_generator
    generator.ranges = [[*area[:2], r[2], *area[2:], r[5]] for r in generator.ranges]
    shape = "sparse_shape" if "sparse_shape" in config.middle_encoder else "output_shape"
    config.middle_encoder[shape] = [*config.middle_encoder[shape][:-2], cells, cells]


@network("PointPillars")
def _() -> Network:
    return detector("PointPillars", 2, 500, lambda config: near(config, 10.24, 64))


@network("SECOND")
def _() -> Network:
    return detector("SECOND", 4, 500, lambda config: near(config, 12.8, 256))


@network("VoteNet")
def _() -> Network:
    def small(config: Any) -> None:
        config.backbone.update(num_points=(64, 32, 16, 8), num_samples=(8, 8, 4, 4))
        config.bbox_head.vote_aggregation_cfg.update(num_point=16, num_sample=4)

    return detector("VoteNet", 4, 256, small)


def narrow(config: Any, depth: int = 18) -> None:
    """Makes a backbone narrow: 16 channels in its first stage, or 32 with bottlenecks."""
    channels = [16, 32, 64, 128] if depth == 18 else [32, 64, 128, 256]
    config.backbone.update(depth=depth, base_channels=16 if depth == 18 else 8, init_cfg=None)
    config.neck.in_channels = channels[-len(config.neck.in_channels) :]


@network("RetinaNet")
def _() -> Network:
    def small(config: Any) -> None:
        narrow(config)
        config.neck.out_channels = 32
        config.bbox_head.update(in_channels=32, feat_channels=32, num_classes=8)

    return detector("RetinaNet", change=small)


@network("Faster R-CNN, DCNv2")
def _() -> Network:
    def small(config: Any) -> None:
        narrow(config, depth=50)
        config.neck.out_channels = 32
        config.rpn_head.update(in_channels=32, feat_channels=32)
        config.roi_head.bbox_roi_extractor.out_channels = 32
        config.roi_head.bbox_head.update(in_channels=32, fc_out_channels=64, num_classes=8)
        config.test_cfg.rpn.update(nms_pre=50, max_per_img=30)

    return detector("Faster R-CNN, DCNv2", change=small)


@network("Deformable DETR")
def _() -> Network:
    def small(config: Any) -> None:
        narrow(config)
        config.num_queries = 30
        for part in (config.encoder, config.decoder):
            part.num_layers = 2

    net = detector("Deformable DETR", change=small)
    nn.init.normal_(net.model.detector.level_embed)  # Its constructor leaves them unwritten.
    return net


@network("YOLOX")
def _() -> Network:
    def small(config: Any) -> None:
        config.backbone.widen_factor = 0.25
        config.neck.update(in_channels=[64, 128, 256], out_channels=32, num_csp_blocks=1)
        config.bbox_head.update(num_classes=8, in_channels=32, feat_channels=32)

    return detector("yolox/yolox_tiny_*", size=128, change=small)
