"""The definitions of the operators as plain loops in NumPy, accumulating in double."""

from __future__ import annotations

import itertools

import numpy as np


def voxel_pooling(geom_xyz, features, voxel_num):
    B, N, C = features.shape
    X, Y, Z = voxel_num
    output = np.zeros((B, Y, X, C))
    pos_memo = np.full((B, N, 3), -1, np.int32)
    for b, n in np.ndindex(B, N):
        x, y, z = geom_xyz[b, n]
        if 0 <= x < X and 0 <= y < Y and 0 <= z < Z:
            output[b, y, x] += features[b, n]
            pos_memo[b, n] = b, y, x
    return output, pos_memo


def voxel_pooling_backward(grad_output, pos_memo):
    grad = np.zeros((*pos_memo.shape[:2], grad_output.shape[3]), grad_output.dtype)
    for b, n in np.ndindex(*pos_memo.shape[:2]):
        if pos_memo[b, n, 0] >= 0:
            grad[b, n] = grad_output[tuple(pos_memo[b, n])]
    return grad


def voxelization(points, voxel_size, coors_range, max_points, max_voxels):
    size, bounds = (np.array(each, points.dtype) for each in (voxel_size, coors_range))
    cells = np.round((bounds[3:] - bounds[:3]) / size)
    voxels: dict[tuple, list] = {}
    for point in points:
        cell = np.floor((point[:3] - bounds[:3]) / size)
        if not ((cell >= 0) & (cell < cells)).all():
            continue
        key = tuple(int(c) for c in cell[::-1])
        if key not in voxels and len(voxels) == max_voxels:
            continue
        members = voxels.setdefault(key, [])
        if len(members) < max_points:
            members.append(point)
    out = np.zeros((len(voxels), max_points, points.shape[1]), points.dtype)
    for row, members in zip(out, voxels.values()):
        row[: len(members)] = np.reshape(members, (len(members), -1)) if members else 0
    counts = np.array([len(members) for members in voxels.values()], np.int32)
    return out, np.array(list(voxels), np.int32).reshape(-1, 3), counts


def dynamic_scatter(feats, coors, reduce):
    keys = sorted({tuple(c) for c in coors.tolist() if min(c) >= 0})
    rank = {key: i for i, key in enumerate(keys)}
    mapping = np.array([rank.get(tuple(c), -1) for c in coors.tolist()], np.int32)
    function = {"max": np.max, "sum": np.sum, "mean": np.mean}[reduce]
    reduced = [function(feats[mapping == v].astype(np.float64), axis=0) for v in range(len(keys))]
    counts = np.array([(mapping == v).sum() for v in range(len(keys))], np.int32)
    shape = (len(keys), feats.shape[1])
    return (
        np.array(reduced).reshape(shape),
        np.array(keys, np.int32).reshape(-1, 3),
        mapping,
        counts,
    )


def dynamic_scatter_backward(grad, feats, voxel_feats, mapping, counts, reduce):
    out = np.zeros(feats.shape)
    for v in range(len(grad)):
        members = np.flatnonzero(mapping == v)
        if reduce == "max":
            for c in range(feats.shape[1]):
                source = members[feats[members, c] == voxel_feats[v, c]]
                if len(source):
                    out[source[0], c] = grad[v, c]
        else:
            out[members] = grad[v] / (counts[v] if reduce == "mean" else 1)
    return out


def ball_query(new_xyz, xyz, min_radius, max_radius, nsample):
    out = np.zeros((*new_xyz.shape[:2], nsample), np.int32)
    for b, m in np.ndindex(*new_xyz.shape[:2]):
        d = xyz[b] - new_xyz[b, m]
        d2 = (d[:, 0] ** 2 + d[:, 1] ** 2) + d[:, 2] ** 2
        low, high = np.float32(min_radius) ** 2, np.float32(max_radius) ** 2
        members = np.flatnonzero((d2 == 0) | ((d2 >= low) & (d2 < high)))[:nsample]
        if len(members):
            out[b, m] = members[0]
            out[b, m, : len(members)] = members
    return out


def three_nn(unknown, known):
    d = unknown[:, :, None] - known[:, None]
    d2 = (d[..., 0] ** 2 + d[..., 1] ** 2) + d[..., 2] ** 2
    # Known points that do not exist are infinitely far, and have the number 0.
    d2 = np.concatenate([d2, np.full((*d2.shape[:2], 3), np.inf, d2.dtype)], 2)
    idx = np.argsort(d2, axis=2, kind="stable")[..., :3]
    dist2 = np.take_along_axis(d2, idx, 2)
    return dist2, np.where(np.isinf(dist2), 0, idx).astype(np.int32)


def three_interpolate(features, indices, weights):
    B, C, _ = features.shape
    out = np.zeros((B, C, indices.shape[1]))
    for b, n, k in np.ndindex(*indices.shape):
        out[b, :, n] += weights[b, n, k].astype(np.float64) * features[b, :, indices[b, n, k]]
    return out


def three_interpolate_backward(grad_output, indices, weights, M):
    out = np.zeros((*grad_output.shape[:2], M))
    for b, n, k in np.ndindex(*indices.shape):
        out[b, :, indices[b, n, k]] += weights[b, n, k].astype(np.float64) * grad_output[b, :, n]
    return out


def masked_im2col(feature, mask_h_idx, mask_w_idx, kernel, pad):
    _, C, H, W = feature.shape
    out = np.zeros((C, *kernel, len(mask_h_idx)), feature.dtype)
    for i, j, k in np.ndindex(*kernel, len(mask_h_idx)):
        h, w = mask_h_idx[k] - pad[0] + i, mask_w_idx[k] - pad[1] + j
        if 0 <= h < H and 0 <= w < W:
            out[:, i, j, k] = feature[0, :, h, w]
    return out.reshape(out.shape[0] * kernel[0] * kernel[1], len(mask_h_idx))


def masked_col2im(col, mask_h_idx, mask_w_idx, size):
    im = np.zeros((1, len(col), *size), col.dtype)
    for k, (h, w) in enumerate(zip(mask_h_idx, mask_w_idx)):
        im[0, :, h, w] = col[:, k]
    return im


def indice_pairs(indices, batch_size, space, kernel, stride, pad, dilation, subm):
    axes = len(space)
    out_space = (
        space
        if subm
        else [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(space, kernel, stride, pad, dilation)
        ]
    )
    offsets = list(itertools.product(*(range(k) for k in kernel)))
    found = []
    for offset in offsets:
        row = []
        for i, site in enumerate(indices.tolist()):
            scaled = [site[a + 1] + pad[a] - offset[a] * dilation[a] for a in range(axes)]
            cell = [c // s for c, s in zip(scaled, stride)]
            inside = all(0 <= c < n for c, n in zip(cell, out_space))
            if inside and all(c % s == 0 for c, s in zip(scaled, stride)):
                row.append((i, (site[0], *cell)))
        found.append(row)
    if subm:
        sites = [tuple(site) for site in indices.tolist()]
    else:
        sites = sorted({cell for row in found for _, cell in row})
    rank = {site: i for i, site in reversed(list(enumerate(sites)))}  # The first of equal sites.
    pairs = np.full((len(offsets), 2, len(indices)), -1, np.int32)
    num = np.zeros(len(offsets), np.int32)
    for k, row in enumerate(found):
        rows = [(i, rank[cell]) for i, cell in row if cell in rank]
        num[k] = len(rows)
        for position, (i, o) in enumerate(rows):
            pairs[k, :, position] = i, o
    return np.array(sites, np.int32).reshape(-1, axes + 1), pairs, num


def _pairs_of(pairs, num):
    for k in range(len(num)):
        rows = pairs[k, :, : num[k]]
        yield k, *rows[:, (rows >= 0).all(0)]


def indice_conv(features, filters, pairs, num, num_out, subm=False):
    flat = filters.reshape(len(num), *filters.shape[-2:]).astype(np.float64)
    out = np.zeros((num_out, flat.shape[2]))
    for k, inputs, outputs in _pairs_of(pairs, num):
        np.add.at(out, outputs, features[inputs].astype(np.float64) @ flat[k])
    return out


def indice_conv_backward_data(grad_output, filters, pairs, num):
    flat = filters.reshape(len(num), *filters.shape[-2:]).astype(np.float64)
    out = np.zeros((pairs.shape[2], flat.shape[1]))
    for k, inputs, outputs in _pairs_of(pairs, num):
        np.add.at(out, inputs, grad_output[outputs].astype(np.float64) @ flat[k].T)
    return out


def indice_conv_backward_filter(features, grad_output, pairs, num, kernel):
    out = np.zeros((len(num), features.shape[1], grad_output.shape[1]))
    for k, inputs, outputs in _pairs_of(pairs, num):
        out[k] = features[inputs].astype(np.float64).T @ grad_output[outputs]
    return out.reshape(*kernel, *out.shape[1:])
