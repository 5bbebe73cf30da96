"""Dynamic scatter backward, max reduction (mmcv, MVX-Net)."""

import torch

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import REDUCTIONS, Inputs, Outputs, Peer, compiled


def ours(inputs: Inputs) -> Peer:
    names = "grad_voxel_feats", "feats", "voxel_feats", "point2voxel_map", "voxel_points_count"
    arguments = *(inputs[name] for name in names), REDUCTIONS[inputs["reduce_type"].item()]
    return Peer("ours", lambda: (torch.ops.mluop_omp.dynamic_scatter_backward(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    feats, voxel_feats, grad = inputs["feats"], inputs["voxel_feats"], inputs["grad_voxel_feats"]
    voxel_of = inputs["point2voxel_map"]
    voxel_of_long = voxel_of.long()
    (points, channels), voxels = feats.shape, voxel_feats.shape[0]
    index = voxel_of_long.unsqueeze(1).expand_as(feats)
    numbers = torch.arange(points).unsqueeze(1)
    numbers_int = numbers.int()
    gathered_feats, gathered_grad = torch.empty_like(feats), torch.empty_like(feats)

    def candidates() -> torch.Tensor:
        """The index of each point that has the maximum of its voxel, else the number of points."""
        maxima = torch.index_select(voxel_feats, 0, voxel_of)
        return torch.where(feats == maxima, numbers_int, points)

    def scatter_reduce_scatter() -> Outputs:
        matching = torch.where(feats == voxel_feats[voxel_of_long], numbers, points)
        source = torch.full((voxels, channels), points).scatter_reduce_(0, index, matching, "amin")
        return (torch.zeros(points + 1, channels).scatter_(0, source, grad)[:-1],)

    def autograd() -> Outputs:
        leaf = feats.detach().requires_grad_()
        maxima = torch.full_like(voxel_feats, -torch.inf).scatter_reduce(0, index, leaf, "amax")
        return torch.autograd.grad(maxima, leaf, grad)

    def index_reduce_scatter() -> Outputs:
        source = torch.full((voxels, channels), points, dtype=torch.int32)
        source.index_reduce_(0, voxel_of_long, candidates(), "amin")
        return (torch.zeros(points + 1, channels).scatter_(0, source.long(), grad)[:-1],)

    def scatter_reduce_gather() -> Outputs:
        source = torch.full((voxels, channels), points, dtype=torch.int32)
        source.scatter_reduce_(0, index, candidates(), "amin")
        return (torch.where(source.index_select(0, voxel_of) == numbers_int, grad.index_select(0, voxel_of), 0.0),)

    def all_matches_in_place() -> Outputs:
        torch.index_select(voxel_feats, 0, voxel_of, out=gathered_feats)
        torch.index_select(grad, 0, voxel_of, out=gathered_grad)
        torch.eq(feats, gathered_feats, out=gathered_feats)
        return (torch.mul(gathered_feats, gathered_grad, out=gathered_grad),)

    def all_matches() -> Outputs:
        maxima = torch.index_select(voxel_feats, 0, voxel_of)
        return (torch.where(feats == maxima, torch.index_select(grad, 0, voxel_of), 0.0),)

    # The last two give the gradient to every point that has the maximum, not only to the first one. The result is
    # wrong for ties, which are common after a ReLU. These inputs have almost no ties.
    return [
        Peer("scatter_reduce + scatter", scatter_reduce_scatter, idiomatic=True),
        Peer("autograd of scatter_reduce (ties: shared equally)", autograd, idiomatic=True, may_differ=True),
        Peer("index_reduce + scatter", index_reduce_scatter),
        compiled(Peer("scatter_reduce + gather", scatter_reduce_gather)),
        Peer("all matches, in place (ties: to each)", all_matches_in_place, counts=False, may_differ=True),
        compiled(Peer("all matches (ties: to each)", all_matches, counts=False, may_differ=True)),
    ]
