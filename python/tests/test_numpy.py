"""Functions of mluop_omp on NumPy arrays: what test_table.py leaves out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ml_dtypes import bfloat16
from numpy.testing import assert_allclose, assert_array_equal

import mluop_omp
from mluop_omp import _self_test
from mluop_omp._operators import _deformable
from mluop_omp._self_test import definitions


def test_arrays_of_bfloat16_that_are_refused():
    unknown = np.ones((1, 2, 3), bfloat16)
    swapped = unknown.view(np.dtype(bfloat16).newbyteorder())
    with pytest.raises(mluop_omp.MluOpError, match="unknown has dtype >V2, expected float16, "):
        mluop_omp.three_nn(swapped, unknown)
    with pytest.raises(mluop_omp.MluOpError, match="known has data type FLOAT, expected BFLOAT16"):
        mluop_omp.three_nn(unknown, unknown.astype(np.float32))
    with pytest.raises(mluop_omp.MluOpError, match="points has data type BFLOAT16, expected FLOAT"):
        mluop_omp.furthest_point_sample(unknown, 1)
    boxes = np.ones((2, 7), np.float32)
    with pytest.raises(mluop_omp.MluOpError, match="scores has dtype bfloat16, expected float32"):
        mluop_omp.nms3d(boxes, np.ones(2, bfloat16), 0.5)


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1.5, 2.0]


@pytest.mark.parametrize("reduce", ["max", "sum", "mean"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_special_values_of_float64_are_those_of_float32(rng, reduce):
    feats = rng.choice(SPECIAL, (60, 3))
    feats[:4] = np.nan  # a voxel without numbers
    coors = rng.integers(0, 3, (60, 3)).astype(np.int32)
    coors[:4] = 3
    double, single = (
        mluop_omp.dynamic_scatter(f, coors, reduce) for f in (feats, np.float32(feats))
    )
    assert double[0].dtype == np.float64
    for a, e in zip(double, single):
        assert_array_equal(np.asarray(a, e.dtype), e)
    points = rng.choice(SPECIAL, (60, 4))
    arguments = (0.5, 0.5, 0.5), (-2, -2, -2, 2, 2, 2), 2, 9
    results = [mluop_omp.voxelization(p, *arguments) for p in (points, np.float32(points))]
    for a, e in zip(*results):
        assert_array_equal(np.asarray(a, e.dtype), e)


def test_a_thread_computes_several_convolutions_in_turn():
    variants = _self_test.variants("indice_pairs")
    calls = [_self_test.arguments("indice_pairs", **each) for each in variants]
    first, second = ([mluop_omp.indice_pairs(*each) for each in calls] for _ in range(2))
    with pytest.raises(mluop_omp.MluOpError, match="stride"):
        ones = (1, 1, 1)
        mluop_omp.indice_pairs(*calls[0][:4], (0, 1, 1), ones, ones)
    third = [mluop_omp.indice_pairs(*each) for each in calls[::-1]][::-1]
    for again in (second, third):
        for arrays, expected in zip(again, first):
            for each, of in zip(arrays, expected):
                assert_array_equal(each, of)


def test_masks_that_are_not_finite(rng):
    """The mask is a factor of the gradients of offsets; a position outside has no terms."""
    image, offset, weight, grad = (
        rng.uniform(0.5, 1, shape).astype(np.float32)
        for shape in ((1, 70, 3, 3), (1, 2, 3, 3), (2, 70, 1, 1), (1, 2, 3, 3))
    )
    offset = offset / 4
    offset[0, 1, :, 2] = 5  # outside
    mask = np.array([np.nan, np.inf, -np.inf], np.float32)[:, np.newaxis] * np.ones(
        (1, 1, 3, 3), "f"
    )
    geometry = (1, 1), (0, 0), (1, 1), 1, 1
    _, found, of_mask = mluop_omp.deform_conv2d_backward_data(
        grad, image, offset, weight, mask, *geometry
    )
    assert np.isnan(found[0, :, 0, :2]).all() and np.isinf(found[0, :, 1:, :2]).all()
    assert (found[..., 2] == 0).all() and (of_mask[..., 2] == 0).all()
    arrays = grad, image, offset, weight, mask
    doubles = [array.astype(float) for array in arrays]
    _, of_definition, _ = definitions.deform_conv2d_backward_data(*arrays, *geometry)
    _, in_double, _ = mluop_omp.deform_conv2d_backward_data(*doubles, *geometry)
    tensors = map(torch.from_numpy, arrays)
    _, of_torch, _, _ = _deformable.backward(*tensors, _deformable.Geometry(*geometry))
    for other in (of_definition, in_double, of_torch.numpy()):
        assert_allclose(other, found, rtol=1e-5)
