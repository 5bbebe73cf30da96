"""The head of a Deformable DETR, exported with plugin nodes, in onnx.reference against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

import onnx_formulas as plain  # noqa: E402
from onnx_export import exported  # noqa: E402
from torch import nn  # noqa: E402

from mluop_omp.onnx import evaluator  # noqa: E402

CHANNELS, HEADS, LEVELS, POINTS, QUERIES, CLASSES = 16, 2, 3, 4, 7, 5
SIZES = (8, 6), (4, 3), (2, 2)


def untraced(tensors: tuple) -> list[np.ndarray]:
    """Returns the values of tensors, so that the exporter sees no operations on them."""
    return [each.detach().numpy() for each in tensors]


class Attention(torch.autograd.Function):
    """Samples at locations. The node's name decides which library exports it so."""

    @staticmethod
    def forward(ctx, name, *arguments):
        return plain.attention(*untraced(arguments)).flatten(2).float()

    @staticmethod
    def symbolic(g, name, *arguments):
        return g.op(name, *arguments)


class AttentionAtOffsets(torch.autograd.Function):
    """Samples at offsets from reference points, as in BEVFormer_tensorrt."""

    @staticmethod
    def forward(ctx, name, *arguments):
        return plain.attention_at_offsets(*untraced(arguments)).float()

    @staticmethod
    def symbolic(g, name, *arguments):
        return g.op(name, *arguments)


class DeformableAttention(nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.value, self.output = nn.Linear(CHANNELS, CHANNELS), nn.Linear(CHANNELS, CHANNELS)
        self.offsets = nn.Linear(CHANNELS, HEADS * LEVELS * POINTS * 2)
        self.weights = nn.Linear(CHANNELS, HEADS * LEVELS * POINTS)
        self.register_buffer("shapes", torch.tensor(SIZES))
        self.register_buffer("starts", torch.tensor([0, 48, 60]))

    def forward(self, query, references, memory):
        """references: [N, Q, 2], x and y from 0 to 1."""
        N, Q = query.shape[:2]
        value = self.value(memory).view(N, -1, HEADS, CHANNELS // HEADS)
        offsets, weights = self.offsets(query), self.weights(query).view(N, Q, HEADS, -1)
        if self.name.endswith("AttnTRT"):
            offsets = offsets.view(N, Q, HEADS, -1)
            inputs = value, self.shapes, references.unsqueeze(2), offsets, weights
            found = AttentionAtOffsets.apply(self.name, *inputs)
            return self.output(found.reshape(N, Q, CHANNELS))
        offsets = offsets.view(N, Q, HEADS, LEVELS, POINTS, 2)
        sizes = self.shapes.flip(1).view(LEVELS, 1, 2)
        locations = references.view(N, Q, 1, 1, 1, 2) + offsets / sizes
        weights = weights.softmax(-1).view(N, Q, HEADS, LEVELS, POINTS)
        found = Attention.apply(self.name, value, self.shapes, self.starts, locations, weights)
        return self.output(found)


class Layer(nn.Module):
    """A layer of the encoder, or of the decoder, which attends to the other queries first."""

    def __init__(self, name: str, is_decoder: bool) -> None:
        super().__init__()
        self.is_decoder = is_decoder
        self.attention = DeformableAttention(name)
        self.feed_forward = nn.Sequential(
            nn.Linear(CHANNELS, 32), nn.ReLU(), nn.Linear(32, CHANNELS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(CHANNELS) for _ in range(3))

    def forward(self, query, position, references, memory=None):
        if self.is_decoder:
            key = query + position
            scores = (key @ key.transpose(1, 2) / CHANNELS**0.5).softmax(-1)
            query = self.norms[0](query + scores @ query)
        memory = query if memory is None else memory
        query = self.norms[1](query + self.attention(query + position, references, memory))
        return self.norms[2](query + self.feed_forward(query))


class DeformableDETRHead(nn.Module):
    """One layer of an encoder, two of a decoder that refines reference points, and the branches."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.encoder = Layer(name, is_decoder=False)
        self.decoder = nn.ModuleList(Layer(name, is_decoder=True) for _ in range(2))
        self.boxes = nn.ModuleList(nn.Linear(CHANNELS, 4) for _ in range(2))
        self.scores = nn.Linear(CHANNELS, CLASSES)
        keys = sum(height * width for height, width in SIZES)
        self.positions = nn.Parameter(torch.randn(keys, CHANNELS))
        self.queries = nn.Parameter(torch.randn(QUERIES, 2 * CHANNELS))
        self.references = nn.Linear(CHANNELS, 2)
        grids = [torch.meshgrid(*map(torch.arange, size), indexing="ij") for size in SIZES]
        centers = [
            torch.stack(((x + 0.5) / width, (y + 0.5) / height), -1).view(-1, 2)
            for (y, x), (height, width) in zip(grids, SIZES)
        ]
        self.register_buffer("centers", torch.cat(centers))

    def forward(self, *levels):
        N = levels[0].shape[0]
        memory = torch.cat([each.flatten(2).transpose(1, 2) for each in levels], 1)
        memory = self.encoder(memory, self.positions, self.centers.expand(N, -1, 2))
        query, position = self.queries.expand(N, -1, -1).chunk(2, -1)
        references = self.references(position).sigmoid()
        for layer, branch in zip(self.decoder, self.boxes):
            query = layer(query, position, references, memory)
            center, size = branch(query).chunk(2, -1)
            references = (center + torch.log(references / (1 - references))).sigmoid()
        return self.scores(query), torch.cat((references, size.sigmoid()), -1)


@pytest.mark.parametrize(
    "domain, name",
    [
        ("mmdeploy", "MMCVMultiScaleDeformableAttention"),
        ("custom_op", "MultiScaleDeformableAttentionPlugin"),
        # BEVFormer_tensorrt writes no domain; torch.onnx requires one for a plugin node.
        ("TRT", "MultiScaleDeformableAttnTRT"),
    ],
)
def test_deformable_detr(domain, name):
    torch.manual_seed(0)
    model = DeformableDETRHead(f"{domain}::{name}").eval()
    levels = tuple(torch.randn(2, CHANNELS, *size) for size in SIZES)
    names = [f"level{index}" for index in range(LEVELS)]
    graph = exported(model, levels, names, ("scores", "boxes"), [domain], opset=17)
    found = [(node.domain, node.op_type) for node in graph.graph.node]
    assert found.count((domain, name)) == 3
    # Other inputs than those that were traced.
    levels = tuple(torch.randn_like(each) for each in levels)
    with torch.no_grad():
        expected = model(*levels)
    outputs = evaluator(graph).run(None, {key: each.numpy() for key, each in zip(names, levels)})
    for output, tensor in zip(outputs, expected):
        np.testing.assert_allclose(output, tensor.numpy(), rtol=1e-4, atol=1e-5, strict=True)
