"""The operators of the library as functions that torch.autograd differentiates."""

import ctypes
from typing import Any

import torch

from library import Library, pointer

SUM, MEAN, MAX = 0, 1, 2


class IndicePairs:
    """Index pairs of a sparse convolution: sites [L, 4] by (batch, z, y, x)."""

    def __init__(
        self,
        library: Library,
        sites: torch.Tensor,
        grid: list[int],
        geometry: tuple[list[int], list[int], list[int]],
        is_submanifold: bool,
    ) -> None:
        kernel, stride, padding = geometry
        self.is_submanifold = is_submanifold
        self.out_grid = grid[:1] + [
            (extent + 2 * p - k) // s + 1 for extent, p, k, s in zip(grid[1:], padding, kernel, stride)
        ]
        convolution = ctypes.c_void_p()
        library.call_without_handle("mluOpCreateSparseConvolutionDescriptor", ctypes.byref(convolution))
        library.call_without_handle(
            "mluOpSetSparseConvolutionDescriptor",
            *(convolution, 5, grid[0]),
            *map(_ints, (padding, stride, [1, 1, 1], grid[1:], kernel, self.out_grid[1:])),
            *(int(is_submanifold), 0, 0),
        )
        offsets = kernel[0] * kernel[1] * kernel[2]
        cells = self.out_grid[0] * self.out_grid[1] * self.out_grid[2] * self.out_grid[3]
        capacity = len(sites) if is_submanifold else min(len(sites) * offsets, cells)
        self.pairs = torch.empty(offsets, 2, len(sites), dtype=torch.int32)
        out_sites = torch.empty(capacity, 4, dtype=torch.int32)
        counts = torch.empty(offsets, dtype=torch.int32)
        descs = [library.describe(tensor) for tensor in (sites, self.pairs, out_sites, counts)]
        workspace = library.workspace("mluOpGetIndicePairsWorkspaceSize", convolution, *descs)
        library.call(
            "mluOpGetIndicePairs",
            *(convolution, descs[0], pointer(sites), *_with_size(workspace)),
            *library.arguments(self.pairs, out_sites, counts),
        )
        number = ctypes.c_int()
        library.call_without_handle(
            "mluOpGetSparseConvolutionNumActOut", convolution, ctypes.byref(number)
        )
        library.call_without_handle("mluOpDestroySparseConvolutionDescriptor", convolution)
        self.out_sites = out_sites[: number.value].clone()
        self.counts = counts.long()


def _ints(values: list[int]) -> Any:
    return (ctypes.c_int * len(values))(*values)


def _with_size(workspace: torch.Tensor) -> tuple[ctypes.c_void_p, ctypes.c_size_t]:
    return pointer(workspace), ctypes.c_size_t(workspace.numel())


class IndiceConvolution(torch.autograd.Function):
    """(library, pairs, features [L, Ci], filters [D, H, W, Ci, Co]) -> [outputs, Co]"""

    @staticmethod
    def forward(ctx, library: Library, pairs: IndicePairs, features, filters):
        ctx.library, ctx.pairs = library, pairs
        ctx.save_for_backward(features, filters)
        result = torch.empty(len(pairs.out_sites), filters.shape[-1])
        flags = map(ctypes.c_int64, (len(result), 0, pairs.is_submanifold))
        numbers = pointer(pairs.counts), *flags
        descs = [library.describe(tensor) for tensor in (features, filters, pairs.pairs, result)]
        workspace = library.workspace("mluOpGetIndiceConvolutionForwardWorkspaceSize", *descs, *numbers)
        library.call(
            "mluOpIndiceConvolutionForward",
            *library.arguments(features, filters, pairs.pairs),
            *(*numbers, *_with_size(workspace)),
            *library.arguments(result),
        )
        return result

    @staticmethod
    def backward(ctx, grad):
        library, pairs = ctx.library, ctx.pairs
        features, filters = ctx.saved_tensors
        counts, inverse, sub_m = pointer(pairs.counts), *map(ctypes.c_int64, (0, pairs.is_submanifold))
        grad_features, grad_filters = torch.empty_like(features), torch.empty_like(filters)
        grad_desc, filters_desc, pairs_desc, features_desc = map(
            library.describe, (grad, filters, pairs.pairs, features)
        )
        workspace = library.workspace(
            "mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize",
            *(features_desc, grad_desc, pairs_desc, filters_desc, counts, inverse, sub_m),
        )
        library.call(
            "mluOpIndiceConvolutionBackwardFilter",
            *library.arguments(features, grad, pairs.pairs),
            *(counts, inverse, sub_m, *_with_size(workspace)),
            *library.arguments(grad_filters),
        )
        if not ctx.needs_input_grad[2]:
            return None, None, None, grad_filters
        workspace = library.workspace(
            "mluOpGetIndiceConvolutionBackwardDataWorkspaceSize",
            *(grad_desc, filters_desc, pairs_desc, features_desc, counts, inverse),
        )
        library.call(
            "mluOpIndiceConvolutionBackwardData",
            *library.arguments(grad, filters, pairs.pairs),
            *(counts, inverse, sub_m, *_with_size(workspace)),
            *library.arguments(grad_features),
        )
        return None, None, grad_features, grad_filters


def three_nn(library: Library, unknown: torch.Tensor, known: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns squared distances and indices [B, N, 3]."""
    dist2, idx = torch.empty_like(unknown), torch.empty(unknown.shape, dtype=torch.int32)
    workspace = library.workspace("mluOpGetThreeNNForwardWorkspaceSize", library.describe(known))
    library.call(
        "mluOpThreeNNForward",
        *(*library.arguments(unknown, known), *_with_size(workspace)),
        *library.arguments(dist2, idx),
    )
    return dist2, idx


class ThreeInterpolate(torch.autograd.Function):
    """(library, features [B, C, M], indices [B, N, 3], weights [B, N, 3]) -> [B, C, N]"""

    @staticmethod
    def forward(ctx, library: Library, features, indices, weights):
        ctx.library, ctx.shape = library, features.shape
        ctx.save_for_backward(indices, weights)
        result = torch.empty(*features.shape[:2], indices.shape[1])
        library.call("mluOpThreeInterpolateForward", *library.arguments(features, indices, weights, result))
        return result

    @staticmethod
    def backward(ctx, grad):
        result = torch.empty(ctx.shape)
        tensors = grad.contiguous(), *ctx.saved_tensors, result
        ctx.library.call("mluOpThreeInterpolateBackward", *ctx.library.arguments(*tensors))
        return None, result, None, None


def _point_to_voxel(library: Library, reduce_type: int, features: torch.Tensor, coors: torch.Tensor) -> tuple:
    points = len(features)
    voxel_features, voxel_coors = torch.empty_like(features), torch.empty_like(coors)
    voxel_of, counts, number = (torch.empty(n, dtype=torch.int32) for n in (points, points, 1))
    workspace = library.workspace(
        "mluOpGetDynamicPointToVoxelForwardWorkspaceSize", *map(library.describe, (features, coors))
    )
    library.call(
        "mluOpDynamicPointToVoxelForward",
        *(reduce_type, *library.arguments(features, coors), *_with_size(workspace)),
        *library.arguments(voxel_features, voxel_coors, voxel_of, counts, number),
    )
    voxels = number.item()
    return voxel_features[:voxels], voxel_coors[:voxels], voxel_of, counts[:voxels], number


class PointToVoxel(torch.autograd.Function):
    """(library, reduce type, features [N, C], coors [N, 3]) -> features [M, C] and coors of voxels, voxel of points"""

    @staticmethod
    def forward(ctx, library: Library, reduce_type: int, features, coors):
        ctx.library, ctx.reduce_type = library, reduce_type
        voxel_features, voxel_coors, voxel_of, counts, number = _point_to_voxel(library, reduce_type, features, coors)
        ctx.save_for_backward(features, voxel_features, voxel_of, counts, number)
        ctx.mark_non_differentiable(voxel_coors, voxel_of)
        return voxel_features, voxel_coors, voxel_of

    @staticmethod
    def backward(ctx, grad, *_):
        library = ctx.library
        features, voxel_features, voxel_of, counts, number = ctx.saved_tensors
        result = torch.empty_like(features)
        descs = map(library.describe, (result, features, voxel_features, voxel_of, counts, number))
        workspace = library.workspace(
            "mluOpGetDynamicPointToVoxelBackwardWorkspaceSize", ctx.reduce_type, *descs
        )
        library.call(
            "mluOpDynamicPointToVoxelBackward",
            *(ctx.reduce_type, *library.arguments(grad, features, voxel_features, voxel_of, counts, number)),
            *(*_with_size(workspace), *library.arguments(result)),
        )
        return None, None, result, None


class AtPoints(torch.autograd.Function):
    """(library, features [M, C] of voxels, voxel of points [N], coors [N, 3]) -> [N, C]. Every point has a voxel."""

    @staticmethod
    def forward(ctx, library: Library, voxel_features, voxel_of, coors):
        ctx.library = library
        ctx.save_for_backward(coors)
        return voxel_features.index_select(0, voxel_of)

    @staticmethod
    def backward(ctx, grad):
        return None, _point_to_voxel(ctx.library, SUM, grad.contiguous(), *ctx.saved_tensors)[0], None, None


class VoxelPooling(torch.autograd.Function):
    """(library, geom_xyz [B, N, 3], features [B, N, C], cells (x, y, z)) -> [B, cells y, cells x, C]"""

    @staticmethod
    def forward(ctx, library: Library, geom_xyz, features, cells: tuple[int, int, int]):
        ctx.library, ctx.shape = library, features.shape
        (batches, points, channels), memo = features.shape, torch.empty_like(geom_xyz)
        result = torch.zeros(batches, cells[1], cells[0], channels)
        library.call(
            "mluOpVoxelPoolingForward",
            *(batches, points, channels, *cells),
            *library.arguments(geom_xyz, features, result, memo),
        )
        ctx.save_for_backward(memo)
        return result

    @staticmethod
    def backward(ctx, grad):
        result = torch.empty(ctx.shape)
        tensors = grad.contiguous(), *ctx.saved_tensors, result
        ctx.library.call("mluOpOmpVoxelPoolingBackward", *ctx.library.arguments(*tensors))
        return None, None, result, None
