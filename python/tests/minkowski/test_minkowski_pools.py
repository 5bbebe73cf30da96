"""MinkowskiEngine's pools over kernels and over batches, and broadcasts: values that its own build
computes, values by definition where they are wrong there, and dense PyTorch.
"""

from __future__ import annotations

import minkowski_sites as sites
import pytest
import torch
import torch.nn.functional as F
from minkowski_sites import LINE, ME, features, random_tensor, tensor

from mluop_omp import MluOpError


def pooled(make, x, kernel, stride=1, **named):
    return features(make(kernel_size=kernel, stride=stride, dimension=x.D, **named)(x))


def test_values_of_a_line():
    total, mean = ME.MinkowskiSumPooling, ME.MinkowskiAvgPooling
    # Windows of kernel_size = stride are the cells [c, c + s).
    assert pooled(total, tensor(LINE), 3, 3) == {-3: 11, 0: 1100, 3: 10000}
    assert pooled(total, tensor(LINE), 3, 3, dilation=5) == {-3: 11, 0: 1100, 3: 10000}
    assert pooled(total, tensor(LINE), 3, 2) == {-4: 1, -2: 11, 0: 1100, 4: 10000}
    assert pooled(mean, tensor(LINE), 2, 2) == {-4: 1, -2: 10, 0: 550, 4: 10000}
    assert pooled(mean, tensor(LINE), 3) == {-3: 5.5, -2: 5.5, 0: 550, 1: 550, 5: 10000}


def test_a_transposed_pool_adds():
    x = tensor({0: 1, 1: 2, 3: 4})
    down = ME.MinkowskiSumPooling(kernel_size=3, stride=2, dimension=1)(x)
    assert features(down) == {0: 3, 2: 6}
    up = ME.MinkowskiPoolingTranspose(kernel_size=3, stride=2, dimension=1)
    assert features(up(down)) == {0: 3, 1: 9, 3: 6}
    assert up(down).coordinate_map_key == x.coordinate_map_key
    # Cells: each fine site has the value of its cell, or 0 if the cell was pruned.
    down = ME.MinkowskiAvgPooling(kernel_size=2, stride=2, dimension=1)(x)
    pruned = ME.MinkowskiPruning()(down, down.C[:, 1] == 0)
    up = ME.MinkowskiPoolingTranspose(kernel_size=2, stride=2, dimension=1)
    assert features(up(down)) == {0: 1.5, 1: 1.5, 3: 4}
    assert features(up(pruned)) == {0: 1.5, 1: 1.5, 3: 0}


def test_a_transposed_pool_to_all_sites():
    x = tensor({-2: 1, 0: 10}, stride=2)
    up = ME.MinkowskiPoolingTranspose(kernel_size=3, stride=2, expand_coordinates=True, dimension=1)
    assert features(up(x)) == {-3: 1, -2: 1, -1: 11, 0: 10, 1: 10}


def test_the_maximum_has_one_winner():
    x = tensor({0: 3, 1: 3, 2: 1})
    x.requires_grad_()
    output = ME.MinkowskiMaxPooling(kernel_size=3, dimension=1)(x)
    assert features(output) == {0: 3, 1: 3, 2: 3}
    output.F.sum().backward()
    assert x.F.grad.flatten().tolist() == [2, 1, 0]


def test_the_lowest_row_of_equal_maxima_in_a_cell_wins():
    x = tensor({-1: -7, -2: -7, 3: 1, 2: 1})
    x.requires_grad_()
    output = ME.MinkowskiMaxPooling(kernel_size=2, stride=2, dimension=1)(x)
    assert features(output) == {-2: -7, 2: 1}
    output.F.sum().backward()
    assert x.F.grad.flatten().tolist() == [1, 0, 1, 0]


def test_a_window_without_an_input_is_0():
    x = tensor({-3: -1, -2: -2, 1: -3})
    x.requires_grad_()
    for make in (ME.MinkowskiMaxPooling, ME.MinkowskiAvgPooling, ME.MinkowskiSumPooling):
        output = make(kernel_size=1, stride=2, dimension=1)(x)
        assert features(output) == {-4: 0, -2: -2, 0: 0}
        (grad,) = torch.autograd.grad(output.F.sum(), x.F)
        assert grad.flatten().tolist() == [0, 1, 0]


def test_nan_is_a_maximum():
    x = tensor({0: float("nan"), 1: float("inf"), 2: -float("inf")})
    output = ME.MinkowskiMaxPooling(kernel_size=2, stride=2, dimension=1)(x)
    assert output.F[0].isnan() and output.F[1] == -float("inf")


def occupancy(grid, x):
    return grid.dense(x.C, torch.ones(len(x), 1, dtype=torch.float64))


@pytest.mark.parametrize(("D", "size"), [(1, 3), (2, 2), (3, 2), (3, 3)])
def test_cells(D, size):
    """Pools of kernel_size = stride against dense pools of the grid."""
    x = random_tensor(D, 3, seed=D)
    grid = sites.Grid(D, 1, size, 6)
    dense = grid.dense(x.C, x.F)
    is_site = occupancy(grid, x)
    average = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[D - 1]
    maximum = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[D - 1]
    coarse = sites.Grid(D, size, size, 6)
    sums = average(dense, size) * size**D
    counts = average(is_site, size) * size**D
    filled = torch.where(is_site.bool(), dense, -torch.inf)
    expected = {
        ME.MinkowskiSumPooling: sums,
        ME.MinkowskiAvgPooling: sums / counts.clamp(min=1),
        ME.MinkowskiMaxPooling: maximum(filled, size),
    }
    for make, result in expected.items():
        output = make(kernel_size=size, stride=size, dimension=D)(x)
        assert torch.equal(output.C, sites.floors(x.C, size))
        values = coarse.read(result, output.C)
        torch.testing.assert_close(output.F, values, rtol=1e-14, atol=0)
        if make is not ME.MinkowskiMaxPooling:
            grad = torch.rand(output.shape, dtype=torch.float64)
            found = torch.autograd.grad(output.F, x.F, grad)
            torch.testing.assert_close(
                found, torch.autograd.grad(values, x.F, grad, retain_graph=True)
            )


@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (2, 1, 2)])
def test_kernels(kernel, stride, dilation):
    """Other pools: a sum is a convolution of ones; a maximum is over the same inputs."""
    x = random_tensor(2, 1, seed=kernel)
    named = {"kernel_size": kernel, "stride": stride, "dilation": dilation, "dimension": 2}
    layer = ME.MinkowskiConvolution(1, 1, **named).double()
    torch.nn.init.ones_(layer.kernel)
    total = layer(x).F
    counts = layer(x._with(torch.ones_like(x.F))).F
    assert torch.equal(ME.MinkowskiSumPooling(**named)(x).F, total)
    mean = ME.MinkowskiAvgPooling(**named)(x)
    assert torch.equal(mean.F, total / counts.clamp(min=1))
    up = ME.MinkowskiConvolutionTranspose(1, 1, **named).double()
    torch.nn.init.ones_(up.kernel)
    if stride > 1:
        assert torch.equal(ME.MinkowskiPoolingTranspose(**named)(mean).F, up(mean).F)
    maximum = ME.MinkowskiMaxPooling(**named)(x)
    read = x.coordinate_manager.kernel_map(
        x.coordinate_map_key, maximum.coordinate_map_key, stride, kernel, dilation
    )
    expected = torch.full_like(maximum.F, -torch.inf)
    for inputs, outputs in (rows.long() for rows in read.values()):
        expected[outputs] = torch.maximum(expected[outputs], x.F.detach()[inputs])
    assert torch.equal(maximum.F, torch.where(counts == 0, 0, expected))


def batches(numbers):
    """Returns two sites of each batch b, of 10 b and 10 b + 1, in a mixed order."""
    rows = [[b, site, -site] for site in (5, -6) for b in numbers]
    values = [[10.0 * b + (site < 0), -b] for site in (5, -6) for b in numbers]
    values = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    return ME.SparseTensor(values, coordinates=torch.tensor(rows, dtype=torch.int32))


@pytest.mark.parametrize("numbers", [(0,), (2, 0, 1), (3, 1, 2, 0), (7, 2)])
def test_global_pools(numbers):
    x, ascending = batches(numbers), sorted(numbers)
    modes = ME.PoolingMode
    pools = {
        ME.MinkowskiGlobalPooling(): 0.5,
        ME.MinkowskiGlobalAvgPooling(modes.GLOBAL_AVG_POOLING_KERNEL): 0.5,
        ME.MinkowskiGlobalMaxPooling(): 1,
        ME.MinkowskiGlobalPooling(modes.GLOBAL_MAX_POOLING_DEFAULT): 1,
    }
    for pool, more in pools.items():
        output = pool(x)
        assert output.C.tolist() == [[b, 0, 0] for b in ascending]
        assert output.F.tolist() == [[10 * b + more, -b] for b in ascending]
        assert output.coordinate_map_key.get_key() == ([0, 0], "")
    total = ME.MinkowskiGlobalSumPooling()(x)
    assert total.F[:, 0].tolist() == [20 * b + 1 for b in ascending]
    maximum = ME.MinkowskiGlobalMaxPooling()(x)
    (grad,) = torch.autograd.grad(maximum.F.sum(), x.F)
    # The second site has the maximum of channel 0; of the equal values of channel 1, the first.
    assert grad.tolist() == [[0, 1]] * len(numbers) + [[1, 0]] * len(numbers)


def test_as_many_sites_as_batches():
    rows = torch.tensor([[1, -4], [0, 3]], dtype=torch.int32)
    x = ME.SparseTensor(torch.tensor([[1.0], [2.0]]), coordinates=rows)
    output = ME.MinkowskiGlobalAvgPooling()(x)
    assert output.F.tolist() == [[2], [1]]
    assert [each.tolist() for each in output.decomposed_features] == [[[2]], [[1]]]


def test_a_batch_without_sites():
    x = batches((0, 1, 2))
    pruned = ME.MinkowskiPruning()(x, x.C[:, 0] != 1)
    for make in (ME.MinkowskiGlobalSumPooling, ME.MinkowskiGlobalMaxPooling):
        assert make()(pruned).F[1].tolist() == [0, 0]
        assert len(make()(pruned)) == 3


def test_the_global_maximum_of_a_field():
    points = torch.tensor([[1, -0.5], [0, 0.5], [1, 7.25]])
    field = ME.TensorField(torch.tensor([[1.0], [-2.0], [3.0]]), coordinates=points)
    output = ME.MinkowskiGlobalMaxPooling()(field)
    assert isinstance(output, ME.SparseTensor)
    assert output.F.tolist() == [[-2], [3]]


@pytest.mark.parametrize("numbers", [(0,), (3, 1, 2, 0), (7, 2)])
def test_broadcasts(numbers):
    x = batches(numbers)
    glob = ME.MinkowskiGlobalSumPooling()(x)
    rows = torch.tensor([sorted(numbers).index(b) for b in x.C[:, 0].tolist()])
    of_site = glob.F[rows]
    expected = {
        ME.MinkowskiBroadcastAddition: x.F + of_site,
        ME.MinkowskiBroadcastMultiplication: x.F * of_site,
        ME.MinkowskiBroadcast: of_site,
        ME.MinkowskiBroadcastConcatenation: torch.cat((x.F, of_site), 1),
    }
    for make, values in expected.items():
        output = make()(x, glob)
        assert output.coordinate_map_key == x.coordinate_map_key
        assert torch.equal(output.F, values)
        grad = torch.rand(values.shape, dtype=torch.float64)
        (found,) = torch.autograd.grad(output.F, x.F, grad, retain_graph=True)
        (wanted,) = torch.autograd.grad(values, x.F, grad, retain_graph=True)
        torch.testing.assert_close(found, wanted)


def test_a_tensor_without_sites():
    x = random_tensor(2, 2)
    with pytest.warns(UserWarning, match="mask is False"):
        nothing = ME.MinkowskiPruning()(x, torch.zeros(len(x), dtype=torch.bool))
    for make in (ME.MinkowskiSumPooling, ME.MinkowskiAvgPooling, ME.MinkowskiMaxPooling):
        for kernel in (2, 3):
            assert make(kernel_size=kernel, stride=2, dimension=2)(nothing).shape == (0, 2)
    assert ME.MinkowskiGlobalPooling()(nothing).F.tolist() == [[0, 0], [0, 0]]
    glob = ME.MinkowskiGlobalPooling()(x)
    assert ME.MinkowskiBroadcastMultiplication()(nothing, glob).shape == (0, 2)


def test_refused_arguments():
    x = batches((0, 1))
    glob = ME.MinkowskiGlobalPooling()(x)
    other = batches((0, 2))
    with pytest.raises(MluOpError, match="input_glob has no row of batch 2"):
        ME.MinkowskiBroadcast()(other, glob)
    with pytest.raises(MluOpError, match="input_glob has 1 channels, expected 2"):
        ME.MinkowskiBroadcastAddition()(x, glob._with(glob.F[:, :1]))
    with pytest.raises(MluOpError, match="MinkowskiGlobalPooling: coordinates"):
        ME.MinkowskiGlobalPooling()(x, glob)
    with pytest.raises(MluOpError, match="mode is PoolingMode.LOCAL_SUM_POOLING"):
        ME.MinkowskiGlobalPooling(ME.PoolingMode.LOCAL_SUM_POOLING)
    with pytest.raises(MluOpError, match="dimension is None"):
        ME.MinkowskiMaxPooling(kernel_size=2)
    with pytest.raises(MluOpError, match="expected a SparseTensor"):
        ME.MinkowskiGlobalPooling()(x.F)
    pool = ME.MinkowskiPooling.MinkowskiPoolingBase
    with pytest.raises(MluOpError, match="pooling_mode PoolingMode.GLOBAL_SUM"):
        pool(2, pooling_mode=ME.PoolingMode.GLOBAL_SUM_POOLING_DEFAULT, dimension=2)
