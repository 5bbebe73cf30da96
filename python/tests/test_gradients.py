"""Results and gradients against formulations in PyTorch, in double, whose own gradients are checked
numerically.
"""

from __future__ import annotations

import cases
import pytest
import torch
import torch.nn.functional as F
from formulations import deform_conv2d, ms_deform_attn, roi_align  # noqa: F401

import mluop_omp.torch as mt


def voxel_pooling(geom_xyz, feats, voxel_num):
    X, Y, Z = voxel_num
    B, _, C = feats.shape
    x, y, z = geom_xyz.long().unbind(2)
    inside = (x >= 0) & (x < X) & (y >= 0) & (y < Y) & (z >= 0) & (z < Z)
    batch = torch.arange(B).unsqueeze(1).expand_as(x)
    cell = ((batch * Y + y) * X + x)[inside]
    return feats.new_zeros(B * Y * X, C).index_add(0, cell, feats[inside]).view(B, Y, X, C)


def bev_pool(depth, features, ranks_depth, ranks_feat, ranks_bev, num_cells):
    used = ranks_bev >= 0
    element, row, cell = (each[used].long() for each in (ranks_depth, ranks_feat, ranks_bev))
    products = depth[element].unsqueeze(1) * features[row]
    return features.new_zeros(num_cells, features.shape[1]).index_add(0, cell, products)


def dynamic_scatter(feats, coors, reduce):
    valid = (coors >= 0).all(1)
    unique, inverse = torch.unique(coors[valid], dim=0, return_inverse=True)
    index = inverse.unsqueeze(1).expand(-1, feats.shape[1])
    kind = {"max": "amax", "sum": "sum", "mean": "mean"}[reduce]
    zeros = feats.new_zeros(len(unique), feats.shape[1])
    return zeros.scatter_reduce(0, index, feats[valid], kind, include_self=False)


def gather_points(feats, idx):
    return feats.gather(2, idx.long().unsqueeze(1).expand(-1, feats.shape[1], -1))


def roiaware_pool3d(rois, pts, feats, out_size, max_pts_each_voxel, method):
    x, y, _, dx, dy, _, yaw = rois.unsqueeze(1).unbind(2)
    cos, sin, (px, py, _) = yaw.cos(), yaw.sin(), pts.unbind(1)
    along_x, along_y = (px - x) * cos + (py - y) * sin, (py - y) * cos - (px - x) * sin
    offset = torch.stack((along_x + dx / 2, along_y + dy / 2, pts[:, 2] - rois[:, 2:3]), 2)
    position, size = offset / rois[:, None, 3:6], torch.tensor(out_size)
    # Top and bottom belong to a box, the other faces do not.
    inside = ((position >= 0) & (position <= 1)).all(2)
    inside &= ((position > 0) & (position < 1))[..., :2].all(2)
    voxel = (position * size).long().clamp(max=size - 1)
    pooled = {"max": lambda rows: rows.amax(0), "mean": lambda rows: rows.mean(0)}[method]
    cells = []
    for r in range(len(rois)):
        for cell in torch.cartesian_prod(*map(torch.arange, out_size)):
            (members,) = (inside[r] & (voxel[r] == cell).all(1)).nonzero(as_tuple=True)
            rows = feats[members[: max_pts_each_voxel - 1]]
            cells.append(pooled(rows) if len(rows) else feats.new_zeros(feats.shape[1]))
    return torch.stack(cells).view(len(rois), *out_size, feats.shape[1])


def sigmoid_focal_loss(input, target, weight, gamma, alpha):
    is_target = F.one_hot(target.long(), input.shape[1] + 1)[:, :-1].bool()
    right = torch.where(is_target, input, -input).sigmoid()
    share = torch.where(is_target, alpha, 1 - alpha)
    weights = torch.cat((weight, weight.new_ones(1)))[target]
    return -weights.unsqueeze(1) * share * (1 - right) ** gamma * right.log()


def first_rows(features_cnt, indices_cnt):
    starts = features_cnt.cumsum(0) - features_cnt
    return starts.repeat_interleave(indices_cnt).unsqueeze(1)


def stack_group_points(features, features_cnt, indices, indices_cnt):
    return features[first_rows(features_cnt, indices_cnt) + indices].transpose(1, 2)


def assign_score_withk(scores, points, centers, knn_idx):
    batch = torch.arange(len(points)).view(-1, 1, 1)
    differences = points[batch, knn_idx.long()] - centers[batch, knn_idx[..., :1].long()]
    return torch.einsum("bnkm,bnkmo->bonk", scores, differences)


def knn(xyz, new_xyz, k):
    return torch.cdist(new_xyz, xyz).square().topk(k, largest=False).values


def three_nn(unknown, known):
    return torch.cdist(unknown, known).square().topk(3, largest=False).values


def three_interpolate(feats, idx, weight):
    B, C, _ = feats.shape
    flat = idx.long().reshape(B, 1, -1).expand(-1, C, -1)
    return (feats.gather(2, flat).view(B, C, -1, 3) * weight.unsqueeze(1)).sum(3)


def masked_im2col(im, mask_h, mask_w, kernel, pad):
    W = im.shape[3] + 2 * pad[1] - kernel[1] + 1
    return F.unfold(im, kernel, padding=pad)[0][:, mask_h.long() * W + mask_w]


def masked_col2im(col, mask_h, mask_w, size):
    pixels = (mask_h.long() * size[1] + mask_w).tolist()
    last = {pixel: k for k, pixel in enumerate(pixels)}
    im = col.new_zeros(len(col), size[0] * size[1])
    im = im.index_copy(1, torch.tensor(list(last)), col[:, list(last.values())])
    return im.view(1, len(col), *size)


def indice_maxpool(feats, pairs, num, num_out):
    out = feats.new_zeros(num_out, feats.shape[1])
    for k, count in enumerate(num):
        inputs, outputs = pairs[k, :, :count].long()
        index = outputs.unsqueeze(1).expand(-1, feats.shape[1])
        out = out.scatter_reduce(0, index, feats[inputs], "amax")
    return out


def indice_conv(feats, filters, pairs, num, num_out, subm):
    out = feats.new_zeros(num_out, filters.shape[-1])
    for k, matrix in enumerate(filters.flatten(0, 2)):
        rows = pairs[k, :, : num[k]].long()
        inputs, outputs = rows[:, (rows >= 0).all(0)]
        out = out.index_add(0, outputs, feats[inputs] @ matrix)
    return out


def doubled(arguments):
    return tuple(
        argument.detach().double().requires_grad_(argument.requires_grad)
        if isinstance(argument, torch.Tensor) and argument.is_floating_point()
        else argument
        for argument in arguments
    )


def first(result):
    return result[0] if isinstance(result, tuple) else result


def compare(name, arguments):
    reference = globals()[name]
    precise = doubled(arguments)
    assert torch.autograd.gradcheck(lambda *a: reference(*a), precise)
    expected = reference(*precise)
    actual = first(getattr(mt, name)(*arguments))
    torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-5)
    weights = torch.randn(expected.shape, generator=cases.generator(), dtype=torch.float64)
    (expected * weights).sum().backward()
    # A gradient that is not contiguous.
    (actual.transpose(0, 1).contiguous() * weights.float().transpose(0, 1)).sum().backward()
    for position in cases.DIFFERENTIABLE[name]:
        torch.testing.assert_close(
            arguments[position].grad.double(), precise[position].grad, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("name", sorted(set(cases.DIFFERENTIABLE) & set(globals())))
def test_operator(name):
    compare(name, cases.with_gradients(name))


@pytest.mark.parametrize("reduce", ["max", "sum"])
def test_dynamic_scatter(reduce):
    feats, coors, _ = cases.with_gradients("dynamic_scatter")
    compare("dynamic_scatter", (feats, coors, reduce))


def test_means_of_voxels():
    *arguments, _ = cases.with_gradients("roiaware_pool3d")
    compare("roiaware_pool3d", (*arguments, "mean"))


@pytest.mark.parametrize("name", ["roi_align", "roiaware_pool3d"])
@pytest.mark.parametrize("method", ["max", "mean"])
def test_the_gradient_of_a_pool_has_derivatives(name, method):
    """The second operator is linear: its derivatives in both modes are itself and its transpose."""
    grad, *others = cases.arguments(f"{name}_backward", method=method)
    operator = getattr(torch.ops.mluop_omp, f"{name}_backward")

    def function(value):
        return operator(value, *others)

    weights = cases.floats(*function(grad).shape)
    (found,) = torch.autograd.grad(function(grad.requires_grad_()), grad, weights)
    _, tangent = torch.func.jvp(function, (grad.detach(),), (found,))
    torch.testing.assert_close((tangent * weights).sum(), found.square().sum())


@pytest.mark.parametrize(
    ("layout", "order"), [("NDHWC", (4, 0, 1, 2, 3)), ("NCDHW", (4, 3, 0, 1, 2))]
)
def test_layouts_of_filters(layout, order):
    feats, filters, *rest = cases.with_gradients("indice_conv")
    permuted = filters.detach().permute(order).contiguous().requires_grad_()
    mt.indice_conv(feats, permuted, *rest, layout).square().sum().backward()
    mt.indice_conv(feats, filters, *rest).square().sum().backward()
    torch.testing.assert_close(permuted.grad, filters.grad.permute(order))


# Those whose operators take float32 alone.
SINGLE = {"dynamic_scatter", "dynamic_scatter_backward", "knn", "ms_deform_attn"}


@pytest.mark.parametrize("name", sorted(cases.DIFFERENTIABLE.keys() - SINGLE))
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_lower_precision(name, dtype):
    """In both modes, and of higher order, they are those of float32, rounded once or twice."""
    arguments, positions = cases.arguments(name), cases.DIFFERENTIABLE[name]
    rounded = {position: arguments[position].to(dtype) for position in positions}
    others = [
        each.to(dtype) if isinstance(each, torch.Tensor) and each.is_floating_point() else each
        for each in arguments
    ]

    def results(given):
        def function(*values):
            changed = [
                each.to(given) if hasattr(each, "to") and each.dtype is dtype else each
                for each in others
            ]
            for position, value in zip(positions, values):
                changed[position] = value
            return first(getattr(torch.ops.mluop_omp, name)(*changed))

        values = [each.to(given).requires_grad_() for each in rounded.values()]
        output = function(*values)
        weights = cases.floats(*output.shape).to(dtype).to(given)
        gradients = torch.autograd.grad(output, values, weights)
        again = torch.autograd.grad(function(*values), values, weights, create_graph=True)
        tangents = tuple(each.detach().flip(0) for each in values)
        _, tangent = torch.func.jvp(function, tuple(each.detach() for each in values), tangents)
        return [*gradients, *again, tangent]

    for found, expected in zip(results(dtype), results(torch.float32)):
        assert found.dtype is dtype
        scale = float(expected.abs().max()) or 1
        tolerance = 4 * torch.finfo(dtype).eps
        torch.testing.assert_close(found.float() / scale, expected / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_positions_in_large_images_of_lower_precision(dtype):
    """Pixels of 600 columns have no numbers of their own in bfloat16."""
    image, offset = cases.floats(1, 1, 9, 600).to(dtype), torch.full((1, 2, 9, 600), 0.25).to(dtype)
    weight = torch.ones(1, 1, 1, 1, dtype=dtype)

    def gradients(given, create_graph):
        values = [each.to(given).requires_grad_() for each in (image, offset, weight)]
        output = mt.deform_conv2d(*values)
        return torch.autograd.grad(output.sum(), values, create_graph=create_graph)

    for create_graph in (False, True):
        for found, expected in zip(gradients(dtype, create_graph), gradients(torch.float32, False)):
            torch.testing.assert_close(found.float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_parameters_under_autocast(dtype):
    """Parameters of float32 have gradients of float32, features those of their own type."""
    for name, position, parameter in (("indice_conv", 0, 1), ("deform_conv2d", 0, 2)):
        arguments = list(cases.with_gradients(name))
        arguments[position] = arguments[position].detach().to(dtype).requires_grad_()
        with torch.autocast("cpu", dtype=dtype):
            output = getattr(mt, name)(*arguments)
        assert output.dtype is dtype
        output.float().square().sum().backward()
        assert arguments[position].grad.dtype is dtype
        assert arguments[parameter].grad.dtype is torch.float32


def test_groups_of_points():
    feats, idx = cases.with_gradients("gather_points")
    groups = mt.gather_points(feats, idx.view(2, 3, 3))
    points = mt.gather_points(feats, idx)
    assert torch.equal(groups, points.view(2, 4, 3, 3))
    weights = cases.floats(2, 4, 3, 3)
    expected = torch.autograd.grad(points, feats, weights.view(2, 4, 9))
    assert torch.equal(torch.autograd.grad(groups, feats, weights)[0], expected[0])


@pytest.mark.parametrize("name", ["three_nn", "knn"])
def test_neighbors_that_do_not_exist_have_no_gradient(name):
    unknown, known = (
        torch.zeros(1, 1, 3, requires_grad=True),
        torch.ones(1, 1, 3, requires_grad=True),
    )
    dist2, _ = mt.three_nn(unknown, known) if name == "three_nn" else mt.knn(known, unknown, 3)
    dist2[dist2.isfinite()].sum().backward()
    torch.testing.assert_close(unknown.grad, torch.full((1, 1, 3), -2.0))
    torch.testing.assert_close(known.grad, torch.full((1, 1, 3), 2.0))


@pytest.mark.parametrize("name", cases.WITHOUT_GRADIENT)
def test_operators_without_gradient_say_so(name):
    numbers, *rest = cases.arguments(name)
    output = first(getattr(torch.ops.mluop_omp, name)(numbers.requires_grad_(), *rest))
    with pytest.raises(NotImplementedError, match=f"mluop_omp::{name} has no gradient"):
        output.sum().backward()
