"""SparseTensor to and from dense and sparse tensors of PyTorch."""

from __future__ import annotations

import pytest
import torch
from minkowski_lines import ME, line, rows

from mluop_omp import MluOpError


def test_dense():
    x = line({(2, 3): 1, (4, 5): 2})
    dense, minimum, stride = x.dense()
    assert dense.shape == (1, 1, 5, 6) and dense[0, 0, 2, 3] == 1 and dense[0, 0, 4, 5] == 2
    assert dense.sum() == 3 and minimum.tolist() == [[2, 3]] and stride.tolist() == [1, 1]
    x = line({(2, 4): 1, (4, 6): 2}, stride=2)
    assert x.dense()[0].shape == (1, 1, 3, 4)
    dense, minimum, stride = x.dense(min_coordinate=torch.IntTensor([2, 4]))
    assert dense.tolist() == [[[[1, 0], [0, 2]]]] and stride.tolist() == [2, 2]
    assert x.dense(min_coordinate=torch.IntTensor([2, 4]), contract_stride=False)[0].shape == (
        1, 1, 3, 3
    )  # fmt: skip
    dense, _, _ = x.dense(shape=torch.Size((2, 7, 4, 5)))
    assert dense.shape == (2, 1, 4, 5)
    assert ME.MinkowskiToDenseTensor(torch.Size((2, 7, 4, 5)))(x).equal(dense)


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_dense_with_negative_coordinates(D):
    sites = torch.tensor([[1, *[-6] * D], [0, *[2] * D]], dtype=torch.int32)
    features = torch.tensor([[1.0, 2], [3, 4]]).double().requires_grad_()
    x = ME.SparseTensor(features, sites, tensor_stride=2)
    with pytest.raises(ValueError, match="the minimum of the coordinates is"):
        x.dense()
    dense, minimum, _ = x.dense(min_coordinate=torch.full((D,), -6).int())
    assert dense.shape == (2, 2, *[5] * D) and minimum.tolist() == [[-6] * D]
    first, last = (slice(None), *[0] * D), (slice(None), *[4] * D)
    assert dense[1][first].tolist() == [1, 2] and dense[0][last].tolist() == [3, 4]
    (dense * dense).sum().backward()
    assert features.grad.tolist() == [[2, 4], [6, 8]]


def test_errors_of_dense():
    x = line({(2, 4): 1, (5, 6): 2}, stride=2)
    for message, named in (
        (
            r"min_coordinate is \[1, 2\], expected multiples",
            {"min_coordinate": torch.IntTensor([1, 2])},
        ),
        ("min_coordinate has 1 elements", {"min_coordinate": torch.IntTensor([2])}),
        (
            r"row 0 has the batch and indices \[0, -1, 0\]",
            {"min_coordinate": torch.IntTensor([4, 4])},
        ),
        (r"row 1 has .* less than \[1, 2, 4\]", {"shape": torch.Size((1, 1, 2, 4))}),
        (r"shape is \[1, 2\], expected 4 numbers", {"shape": torch.Size((1, 2))}),
    ):
        with pytest.raises(MluOpError, match=message):
            x.dense(**named)
    with pytest.raises(MluOpError, match="several sites are in one element"):
        line({4: 1, 5: 2}, stride=2).dense()
    empty = ME.SparseTensor(torch.ones(0, 1), torch.zeros(0, 2).int())
    with pytest.raises(MluOpError, match="shape is None"):
        empty.dense()
    with pytest.raises(MluOpError, match="max_coords is None"):
        empty.sparse(min_coords=[0])
    assert empty.dense(shape=torch.Size((2, 1, 3)))[0].tolist() == [[[0, 0, 0]]] * 2


def test_sparse_tensors_of_pytorch():
    x = line({(-2, 4): 1, (4, 6): 2}, stride=2)
    before = x.C.clone()
    found, minimum, stride = x.sparse()
    assert torch.equal(x.C, before) and stride.tolist() == [2, 2]
    assert minimum.tolist() == [[-1, 2]]
    assert found.to_dense().shape == (1, 4, 2, 1) and found.to_dense()[0, 3, 1, 0] == 2
    corners = torch.IntTensor([-4, 4]), torch.IntTensor([6, 8])
    found, minimum, _ = x.sparse(*corners)
    assert found.shape == (1, 6, 3, 1) and minimum.tolist() == [[-2, 2]]
    assert found.to_dense()[0, 1, 0, 0] == 1
    found, minimum, _ = x.sparse(*corners, contract_coords=False)
    assert found.shape == (1, 11, 5, 1) and minimum.tolist() == [[-4, 4]]
    with pytest.raises(MluOpError, match="row 1 has the batch and indices"):
        x.sparse(corners[0], torch.IntTensor([2, 8]))
    with pytest.raises(MluOpError, match="max_coords is"):
        x.sparse(corners[0], torch.IntTensor([3, 8]))


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_sparse_tensors_from_dense_ones(D):
    generator = torch.Generator().manual_seed(D)
    dense = torch.randn(2, 3, *range(2, 2 + D), generator=generator).double()
    dense = dense * (torch.rand(2, 1, *range(2, 2 + D), generator=generator) < 0.5)
    dense.requires_grad_()
    x = ME.to_sparse(dense)
    is_site = (dense != 0).any(1)
    assert torch.equal(x.C, is_site.nonzero().int())
    assert torch.equal(x.dense(shape=dense.shape)[0], dense)
    last = ME.to_sparse(dense.movedim(1, -1), "B" + "X" * D + "C")
    assert torch.equal(last.F, x.F) and torch.equal(last.C, x.C)
    every = ME.to_sparse_all(dense)
    assert len(every) == dense.numel() // 3
    assert torch.equal(every.C, ME.dense_coordinates(dense.shape))
    assert torch.equal(every.dense(shape=dense.shape)[0], dense)
    (gradient,) = torch.autograd.grad(x.F.sum() + every.F.sum(), dense)
    assert torch.equal(gradient, 1.0 + is_site.unsqueeze(1).expand_as(dense))
    for layer, expected in (
        (ME.MinkowskiToSparseTensor(), x),
        (ME.MinkowskiToSparseTensor(remove_zeros=False), every),
        (ME.MinkowskiToSparseTensor(coordinates=x.C), x),
        (ME.MinkowskiToSparseTensor(coordinates=ME.dense_coordinates(dense.shape)), every),
    ):
        found = layer(dense)
        assert torch.equal(found.F, expected.F) and torch.equal(found.C, expected.C)
    assert torch.equal(ME.MinkowskiToFeature()(x), x.F)


def test_errors_of_sparse_tensors_from_dense_ones():
    with pytest.raises(MluOpError, match=r"the input is \[2, 3\]"):
        ME.to_sparse(torch.ones(2, 3))
    with pytest.raises(MluOpError, match="format is 'BXX'"):
        ME.to_sparse(torch.ones(2, 3, 4), "BXX")
    with pytest.raises(MluOpError, match=r"coordinates\[0\] is -1"):
        ME.to_sparse_all(torch.ones(1, 1, 3), rows([-1]))
    with pytest.raises(MluOpError, match=r"coordinates has shape \[1, 3\]"):
        ME.to_sparse_all(torch.ones(1, 1, 3), rows([(1, 1)]))
    with pytest.raises(MluOpError, match=r"shape is \[2, 3\]"):
        ME.dense_coordinates((2, 3))
    with pytest.raises(ValueError, match="the input is a str"):
        ME.MinkowskiToSparseTensor()("x")
    with pytest.raises(MluOpError, match="the input is a str"):
        ME.MinkowskiToFeature()("x")
