"""BEVDet's view transformer, exported with bev_pool_v2, in onnx.reference against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_export import exported, nodes  # noqa: E402

from mluop_omp.onnx import references  # noqa: E402

CAMERAS, DEPTHS, HEIGHT, WIDTH, CHANNELS = 3, 10, 4, 6, 5
# Lower bounds, cell sizes and cells along x, y and z.
LOWER, SIZE, CELLS = (-8.0, -8.0, -5.0), (1.0, 1.0, 10.0), (16, 16, 1)
RANKS = ("ranks_depth", "ranks_feat", "ranks_bev", "interval_starts", "interval_lengths")


class BEVPool(torch.autograd.Function):
    """The function that BEVDet traces; it computes nothing here."""

    @staticmethod
    def forward(ctx, depth, feat, *ranks):
        return feat.new_zeros(1, CELLS[1], CELLS[0], feat.shape[-1])

    @staticmethod
    def symbolic(g, *inputs):
        sizes = {"out_height_i": CELLS[1], "out_width_i": CELLS[0]}
        return g.op("mmdeploy::bev_pool_v2", *inputs, **sizes)


class ViewTransformer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depth_net = torch.nn.Conv2d(8, DEPTHS + CHANNELS, 1)
        self.encoder = torch.nn.Conv2d(CHANNELS, 4, 3, padding=1)

    def lifted(self, image):
        """Depth [cameras, D, H, W] and features [cameras, H, W, C]."""
        depth, feat = self.depth_net(image).split((DEPTHS, CHANNELS), 1)
        return depth.softmax(1), feat.permute(0, 2, 3, 1)

    def forward(self, image, *ranks):
        pooled = BEVPool.apply(*self.lifted(image), *ranks)
        return self.encoder(pooled.permute(0, 3, 1, 2)).relu()

    def splatted(self, image, cells):
        """As forward, with the product of depth and features, and the cell of each point or -1."""
        depth, feat = self.lifted(image)
        volume = depth.unsqueeze(-1) * feat.unsqueeze(1)
        is_inside = cells >= 0
        pooled = volume.new_zeros(CELLS[0] * CELLS[1], CHANNELS)
        pooled.index_add_(0, cells[is_inside], volume[is_inside])
        pooled = pooled.view(1, CELLS[1], CELLS[0], CHANNELS)
        return self.encoder(pooled.permute(0, 3, 1, 2)).relu()


def cells_of_frustums() -> torch.Tensor:
    """Returns the cell [cameras, D, H, W] of each point of the cameras' frustums, or -1."""
    depth, v, u = torch.meshgrid(
        torch.arange(DEPTHS) + 1.0,
        torch.arange(HEIGHT) - HEIGHT / 2 + 0.5,
        torch.arange(WIDTH) - WIDTH / 2 + 0.5,
        indexing="ij",
    )
    # Along the camera's axes: forward, left, up; the focal length is 4 pixels.
    rays = torch.stack((depth, -u * depth / 4, -v * depth / 4), -1)
    found = []
    for camera in range(CAMERAS):
        yaw = 2 * math.pi * camera / CAMERAS + 0.1
        turn = torch.tensor(
            [[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]]
        )
        points = rays @ turn.T + turn[:, 0] * 0.5
        x, y, z = ((points - torch.tensor(LOWER)) / torch.tensor(SIZE)).floor().long().unbind(-1)
        is_inside = (x >= 0) & (x < CELLS[0]) & (y >= 0) & (y < CELLS[1]) & (z == 0)
        found.append(torch.where(is_inside, y * CELLS[0] + x, -1))
    return torch.stack(found)


def ranks_of(cells: torch.Tensor) -> list[torch.Tensor]:
    """Returns the ranks of the points in the grid, sorted by cell, and the intervals of cells."""
    points = (cells.flatten() >= 0).nonzero().flatten()
    points = points[cells.flatten()[points].argsort(stable=True)]
    camera, pixel = points // (DEPTHS * HEIGHT * WIDTH), points % (HEIGHT * WIDTH)
    bev = cells.flatten()[points]
    lengths = bev.unique_consecutive(return_counts=True)[1]
    starts = lengths.cumsum(0) - lengths
    ranks = (points, camera * HEIGHT * WIDTH + pixel, bev, starts, lengths)
    return [each.int() for each in ranks]


@pytest.fixture(scope="module")
def transformer():
    torch.manual_seed(0)
    return ViewTransformer().eval()


@pytest.fixture(scope="module")
def evaluator(transformer):
    inputs = (torch.randn(CAMERAS, 8, HEIGHT, WIDTH), *ranks_of(cells_of_frustums()))
    graph = exported(transformer, inputs, ("image", *RANKS), ("bev",), ["mmdeploy"])
    assert nodes(graph, "mmdeploy") == ["bev_pool_v2"]
    return ReferenceEvaluator(graph, new_ops=references())


@pytest.mark.parametrize("is_empty", [False, True])
def test_view_transformer(transformer, evaluator, is_empty):
    cells = cells_of_frustums()
    assert 100 < (cells >= 0).sum() < cells.numel() and len(cells.unique()) > 50
    if is_empty:
        cells = torch.full_like(cells, -1)
    torch.manual_seed(1)
    image = torch.randn(CAMERAS, 8, HEIGHT, WIDTH)
    with torch.no_grad():
        expected = transformer.splatted(image, cells)
    feeds = {name: each.numpy() for name, each in zip(RANKS, ranks_of(cells))}
    (bev,) = evaluator.run(None, {"image": image.numpy(), **feeds})
    np.testing.assert_allclose(bev, expected.numpy(), rtol=1e-4, atol=1e-5, strict=True)
