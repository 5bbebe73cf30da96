"""Modules of networks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mluop_omp.torch import functional


class VoxelPooling(nn.Module):
    """Pools point features into a bird's-eye grid (BEVDepth, arXiv:2206.10092).

    Args:
        voxel_num: the extents of the grid (X, Y, Z), in voxels.
    """

    def __init__(self, voxel_num: Sequence[int]) -> None:
        super().__init__()
        self.voxel_num = tuple(voxel_num)

    def forward(self, geom_xyz: Tensor, features: Tensor) -> Tensor:
        """Takes voxels int32 [B, ..., 3] and features float16, bfloat16, float32 or
        float64 [B, ..., C].

        Returns [B, C, Y, X].
        """
        B, C = features.shape[0], features.shape[-1]
        geom_xyz = geom_xyz.reshape(B, geom_xyz.shape[1:-1].numel(), 3)
        features = features.reshape(B, features.shape[1:-1].numel(), C)
        pooled = functional.voxel_pooling(geom_xyz, features, self.voxel_num)[0]
        return pooled.permute(0, 3, 1, 2)

    def extra_repr(self) -> str:
        return f"voxel_num={self.voxel_num}"


class ThreeInterpolate(nn.Module):
    """Interpolates the features of the three nearest points by inverse distances (PointNet++).

    Args:
        eps: added to the distances, in the unit of the coordinates.
    """

    def __init__(self, eps: float = 1e-8) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, unknown: Tensor, known: Tensor, features: Tensor) -> Tensor:
        """Takes points [B, N, 3], known points [B, M, 3], features [B, C, M]; returns [B, C, N]."""
        # The weights are constants, in forward mode too.
        dist2, idx = functional.three_nn(unknown.detach(), known.detach())
        inverse = 1 / (dist2.sqrt() + self.eps)
        weight = inverse / inverse.sum(2, keepdim=True)
        return functional.three_interpolate(features, idx, weight)

    def extra_repr(self) -> str:
        return f"eps={self.eps}"


class DynamicScatter(nn.Module):
    """Reduces the features of the points of each voxel (MVX-Net, arXiv:1904.01649).

    Args:
        reduce: "max", "sum" or "mean".
    """

    def __init__(self, reduce: str = "max") -> None:
        super().__init__()
        self.reduce = reduce

    def forward(self, points: Tensor, coors: Tensor) -> tuple[Tensor, Tensor]:
        """Takes features [N, C] and int32 voxels [N, 3] or, with the batch first, [N, 4].

        Returns the features [V, C] and the coordinates [V, 3] or [V, 4] of the voxels.
        """
        if coors.shape[1] == 3:
            return functional.dynamic_scatter(points, coors, self.reduce)[:2]
        feats, voxels = [], []
        batches = int(coors[:, 0].max()) + 1 if len(coors) else 0
        for batch in range(batches):
            members = coors[:, 0] == batch
            own = coors[members][:, 1:]
            voxel_feats, voxel_coors = functional.dynamic_scatter(
                points[members], own, self.reduce
            )[:2]
            feats.append(voxel_feats)
            voxels.append(nn.functional.pad(voxel_coors, (1, 0), value=batch))
        if not feats:
            return points[:0], coors[:0]
        return torch.cat(feats), torch.cat(voxels)

    def extra_repr(self) -> str:
        return f"reduce={self.reduce!r}"


class MaskedConv2d(nn.Conv2d):
    """A convolution that computes the pixels of a mask and leaves the others 0 (mmcv MaskedConv2d).

    It takes the arguments of torch.nn.Conv2d; with a mask, stride, dilation and groups must be 1
    and the input one image. Unlike mmcv's, it has gradients.
    """

    def forward(self, input: Tensor, mask: Tensor | None = None) -> Tensor:
        """Takes [1, C, H, W] and a mask [1, H, W], or no mask: then it is torch.nn.Conv2d.

        Pixels of the mask outside the output, which padding below kernel_size // 2 makes smaller,
        have no effect.
        """
        if mask is None:
            return super().forward(input)
        if self.stride != (1, 1) or self.dilation != (1, 1) or self.groups != 1:
            raise ValueError("with a mask, stride, dilation and groups must be 1")
        if isinstance(self.padding, str) or self.padding_mode != "zeros":
            raise ValueError("with a mask, padding must be integers, and padding_mode 'zeros'")
        return masked_conv2d(input, mask, self.weight, self.bias, self.padding)


def masked_conv2d(
    input: Tensor, mask: Tensor, weight: Tensor, bias: Tensor | None, padding: Sequence[int]
) -> Tensor:
    """Convolves the pixels of a mask and leaves the others 0: `MaskedConv2d`."""
    kernel = weight.shape[2:]
    height, width = (
        max(extent + 2 * pad - size + 1, 0)
        for extent, pad, size in zip(input.shape[2:], padding, kernel)
    )
    computed = mask[0, :height, :width] > 0
    mask_h, mask_w = (idx.int() for idx in torch.nonzero(computed, as_tuple=True))
    col = functional.masked_im2col(input, mask_h, mask_w, kernel, padding)
    output = weight.flatten(1) @ col
    if bias is not None:
        output = output + bias[:, None]
    return functional.masked_col2im(output, mask_h, mask_w, (height, width))
