"""Sites of sparse tensors against dictionaries; sums and maxima over index pairs against loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import mluop_omp
import mluop_omp.torch as mt
from mluop_omp.torch import site_maps
from mluop_omp.torch.site_maps import KernelMap

LIMITS = np.iinfo(np.int32)


@pytest.fixture(params=[0, 1])
def rng(request):
    return np.random.default_rng(request.param)


def random_sites(rng, N, D=3, reach=4):
    """Returns sites of the batches -1, 0 and 3, with negative coordinates; some are equal."""
    batch = rng.choice([-1, 0, 3], (N, 1))
    return np.concatenate((batch, rng.integers(-reach, reach + 1, (N, D))), 1).astype(np.int32)


def tuples(rows):
    return [tuple(row) for row in rows.tolist()]


def first_rows(rows):
    """Returns {row: its first position}."""
    first = {}
    for position, row in enumerate(tuples(rows)):
        first.setdefault(row, position)
    return first


def moved(site, offset):
    return (site[0], *(a + b for a, b in zip(site[1:], offset)))


@pytest.mark.parametrize(("N", "C"), [(0, 4), (1, 1), (300, 1), (300, 4), (300, 8)])
def test_unique_rows(N, C, rng):
    rows = rng.choice([LIMITS.min, -1, 0, LIMITS.max], (N, C)).astype(np.int32)
    distinct = first_rows(rows)
    first, inverse = mluop_omp.unique_rows(rows)
    assert first.tolist() == list(distinct.values())
    np.testing.assert_array_equal(rows[first][inverse], rows)
    first, inverse = mluop_omp.unique_rows(rows, True)
    assert tuples(rows[first]) == sorted(distinct)
    assert first.tolist() == [distinct[row] for row in sorted(distinct)]
    np.testing.assert_array_equal(rows[first][inverse], rows)


@pytest.mark.parametrize(("N", "M"), [(0, 0), (0, 60), (60, 0), (200, 150)])
def test_union_rows(N, M, rng):
    a, b = random_sites(rng, N, 2), random_sites(rng, M, 2)
    rows, index_a, index_b = mluop_omp.union_rows(a, b)
    assert tuples(rows) == list(first_rows(np.concatenate((a, b))))
    np.testing.assert_array_equal(rows[index_a], a)
    np.testing.assert_array_equal(rows[index_b], b)


def pairs_of_dictionary(inputs, outputs, offsets):
    first = first_rows(inputs)
    targets = [[(first.get(moved(o, k)), row) for row, o in enumerate(outputs)] for k in offsets]
    return [[pair for pair in each if pair[0] is not None] for each in targets]


@pytest.mark.parametrize(("N", "M"), [(0, 9), (9, 0), (200, 90)])
@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_site_pairs(N, M, D, rng):
    inputs, outputs = random_sites(rng, N, D, 2), random_sites(rng, M, D, 3)
    outputs = outputs[mluop_omp.unique_rows(outputs)[0]]
    offsets = rng.integers(-2, 3, (6, D)).astype(np.int32)
    pairs, num = mluop_omp.site_pairs(inputs, outputs, offsets)
    expected = pairs_of_dictionary(inputs, tuples(outputs), tuples(offsets))
    assert pairs.shape == (6, 2, N)
    assert num.tolist() == list(map(len, expected))
    for found, count, each in zip(pairs, num, expected):
        assert tuples(found[:, :count].T) == each
        assert (found[:, count:] == -1).all()


def test_sums_of_sites_are_of_64_bits():
    ends = np.array([(0, LIMITS.min), (0, LIMITS.max), (0, -1)], np.int32)
    offsets = np.array([[1], [-1], [LIMITS.max], [LIMITS.min]], np.int32)
    pairs, num = mluop_omp.site_pairs(ends, ends, offsets)
    assert num.tolist() == [0, 0, 1, 1]
    # inputs = outputs + offsets
    assert pairs[2:, :, 0].tolist() == [[2, 0], [2, 1]]
    with pytest.raises(mluop_omp.MluOpError):
        mluop_omp.reached_sites(ends, offsets, (1,))
    with pytest.raises(mluop_omp.MluOpError):
        mluop_omp.floor_sites(ends, (3,))


@pytest.mark.parametrize("multiples", [(1, 1, 1), (2, 1, 3), (7, 7, 7)])
@pytest.mark.parametrize("N", [0, 1, 150])
def test_reached_and_floored_sites(N, multiples, rng):
    sites, offsets = random_sites(rng, N), rng.integers(-2, 3, (5, 3)).astype(np.int32)
    sums = {moved(site, k) for site in tuples(sites) for k in tuples(offsets)}
    expected = sorted(s for s in sums if not any(c % m for c, m in zip(s[1:], multiples)))
    assert tuples(mluop_omp.reached_sites(sites, offsets, multiples)) == expected
    floored = [(s[0], *(c // m * m for c, m in zip(s[1:], multiples))) for s in tuples(sites)]
    floors, inverse = mluop_omp.floor_sites(sites, multiples)
    assert tuples(floors) == sorted(set(floored))
    assert tuples(floors[inverse]) == floored


@pytest.mark.parametrize("strides", [(1, 1, 1), (2, 4, 1), (3,), (5, 2, 1, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_corners(strides, dtype, rng):
    D = len(strides)
    sites = random_sites(rng, 400, D)
    points = np.concatenate((sites[:100, :1], rng.uniform(-5, 5, (100, D))), 1).astype(dtype)
    points[:20] = sites[:20]
    rows, weights = mluop_omp.corners(points, sites, strides)
    first = first_rows(sites)
    assert rows.shape == weights.shape == (100, 2**D) and weights.dtype == dtype
    for point, found, shares in zip(points.tolist(), rows, weights):
        batch, *p = point
        for j, upper in enumerate(itertools.product((0, 1), repeat=D)):
            c = [(math.floor(x / s) + u) * s for x, s, u in zip(p, strides, upper)]
            assert found[j] == first.get((batch, *c), -1)
            share = math.prod(1 - abs(x - y) / s for x, y, s in zip(p, c, strides))
            assert shares[j] == pytest.approx(share, rel=1e-5, abs=1e-6)
        assert shares.sum() == pytest.approx(1, rel=1e-5)


def test_cube_offsets():
    fastest_first = site_maps.cube_offsets([2, 3], True, [0, -1], [1, 2])
    assert fastest_first.tolist() == [[0, -2], [1, -2], [0, 0], [1, 0], [0, 2], [1, 2]]
    fastest_last = site_maps.cube_offsets([2, 3], False, [0, -1], [1, 2])
    assert fastest_last.tolist() == [[0, -2], [0, 0], [0, 2], [1, -2], [1, 0], [1, 2]]
    assert fastest_last.dtype is torch.int32
    with pytest.raises(mluop_omp.MluOpError, match="kernel, lowest and steps have 2, 1 and 2"):
        site_maps.cube_offsets([2, 3], True, [0], [1, 1])
    with pytest.raises(mluop_omp.MluOpError, match=r"offsets.* expected a 32-bit integer"):
        site_maps.cube_offsets([3], True, [2**30], [4])


def random_map(rng, N, M, reach=2):
    """Returns a map of 3 x 3 offsets; output 0 has no input."""
    inputs = torch.from_numpy(random_sites(rng, N, 2, reach))
    outputs = torch.from_numpy(random_sites(rng, M, 2, reach))
    if M:
        outputs[0] = 99
        outputs = outputs[mt.unique_rows(outputs)[0].long()]
    return site_maps.kernel_map(
        inputs, outputs, site_maps.cube_offsets([3] * 2, True, [-1] * 2, [1] * 2)
    )


def pairs_of(map):
    """Yields offset, input row and output row of each pair."""
    for k, (pairs, count) in enumerate(zip(map.pairs, map.num.tolist())):
        yield from ((k, i, o) for i, o in pairs[:, :count].T.tolist())


def floats(rng, *shape, dtype=torch.float64):
    """Returns numbers that bfloat16 holds."""
    numbers = torch.tensor(rng.standard_normal(shape), dtype=torch.bfloat16)
    return numbers.to(dtype).requires_grad_()


# Numbers of input and output sites.
SIZES = [(40, 25), (25, 40), (0, 5), (5, 0), (0, 0)]


@pytest.mark.parametrize(("N", "M"), SIZES)
def test_convolutions(N, M, rng):
    for map in (random_map(rng, N, M), site_maps.exchanged(random_map(rng, M, N))):
        feats, kernel = floats(rng, map.num_in, 3), floats(rng, 9, 3, 4)
        expected = torch.zeros(map.num_out, 4, dtype=torch.float64)
        for k, i, o in pairs_of(map):
            expected[o] = expected[o] + feats[i] @ kernel[k]
        found = site_maps.convolve(feats, kernel, map)
        torch.testing.assert_close(found, expected)
        grads = torch.autograd.grad((found**2).sum(), (feats, kernel))
        if expected.requires_grad:
            wanted = torch.autograd.grad((expected**2).sum(), (feats, kernel))
            torch.testing.assert_close(grads, wanted)
        else:
            assert all((each == 0).all() for each in grads)


def test_exchanged_maps_exchange_the_rows(rng):
    map = random_map(rng, 30, 20)
    other = site_maps.exchanged(map)
    assert (other.num_in, other.num_out) == (map.num_out, map.num_in)
    assert [(k, o, i) for k, i, o in pairs_of(map)] == list(pairs_of(other))
    assert list(pairs_of(site_maps.exchanged(other))) == list(pairs_of(map))


def test_maps_of_more_pairs_than_rows(rng):
    """An offset pairs several inputs with one output, as the cells of a pool do."""
    one, other = [(0, 1), (1, 1), (2, 0), (3, 1), (4, 1)], [(4, 0)]
    cells = map_of_pairs([one, other], 5, 2)
    for map in (cells, site_maps.exchanged(cells), site_maps.exchanged(site_maps.exchanged(cells))):
        feats, kernel = floats(rng, map.num_in, 2), floats(rng, 2, 2, 3)
        expected = torch.zeros(map.num_out, 3, dtype=torch.float64)
        for k, i, o in pairs_of(map):
            expected[o] = expected[o] + feats[i] @ kernel[k]
        torch.testing.assert_close(site_maps.convolve(feats, kernel, map), expected)
        for check in (gradcheck, gradgradcheck):
            assert check(lambda *given, map=map: site_maps.convolve(*given, map), (feats, kernel))
    turned = sorted((k, o, i) for k, i, o in pairs_of(cells))
    assert sorted(pairs_of(site_maps.exchanged(cells))) == turned


def test_maps_of_repeated_sites(rng):
    inputs, outputs = (torch.from_numpy(random_sites(rng, 60, 1, 2)) for _ in range(2))
    map = site_maps.kernel_map(inputs, outputs, torch.tensor([[-1], [0], [1]]))
    assert int(map.num.max()) > len(mt.unique_rows(inputs)[0])
    feats, kernel = floats(rng, 60, 2), floats(rng, 3, 2, 2)
    expected = torch.zeros(60, 2, dtype=torch.float64)
    for k, i, o in pairs_of(map):
        expected[i] = expected[i] + feats[o] @ kernel[k]
    torch.testing.assert_close(
        site_maps.convolve(feats, kernel, site_maps.exchanged(map)), expected
    )


def test_each_row_with_itself(rng):
    feats, kernel = floats(rng, 7, 2), floats(rng, 2, 3)
    map = site_maps.themselves(7)
    assert list(pairs_of(map)) == [(0, row, row) for row in range(7)]
    torch.testing.assert_close(site_maps.convolve(feats, kernel, map), feats @ kernel)


def test_a_kernel_of_one_offset(rng):
    map = site_maps.kernel_map(*[torch.arange(6).view(3, 2)] * 2, torch.zeros(1, 1).long())
    feats, kernel = floats(rng, 3, 2), floats(rng, 2, 5)
    torch.testing.assert_close(site_maps.convolve(feats, kernel, map), feats @ kernel)
    assert gradcheck(lambda *given: site_maps.convolve(*given, map), (feats, kernel))
    assert gradgradcheck(lambda *given: site_maps.convolve(*given, map), (feats, kernel))


def max_of_loop(feats, map):
    """Returns the maxima, and the row of each or None."""
    winners = [[None] * feats.shape[1] for _ in range(map.num_out)]
    for _, i, o in sorted(pairs_of(map)):
        for c, winner in enumerate(winners[o]):
            value, best = feats[i, c], None if winner is None else feats[winner, c]
            if best is None or value > best or (value.isnan() and not best.isnan()):
                winners[o][c] = i
    return winners


@pytest.mark.parametrize(("N", "M"), SIZES)
def test_pools(N, M, rng):
    for map in (random_map(rng, N, M), site_maps.exchanged(random_map(rng, M, N))):
        feats = floats(rng, map.num_in, 3)
        expected = torch.zeros(map.num_out, 3, dtype=torch.float64)
        counts = torch.zeros(map.num_out, 1, dtype=torch.float64)
        for _, i, o in pairs_of(map):
            expected[o] = expected[o] + feats[i]
            counts[o] += 1
        torch.testing.assert_close(site_maps.sum_pool(feats, map), expected)
        average = site_maps.average_pool(feats, map)
        torch.testing.assert_close(average, expected / counts.clamp(min=1))
        maxima = site_maps.max_pool(feats, map)
        (grad,) = torch.autograd.grad(maxima.sum(), feats)
        wanted = torch.zeros_like(feats)
        for o, row in enumerate(max_of_loop(feats, map)):
            for c, i in enumerate(row):
                assert maxima[o, c] == (0 if i is None else feats[i, c])
                if i is not None:
                    wanted[i, c] += 1
        assert torch.equal(grad, wanted)


@pytest.mark.parametrize("name", ["sum_pool", "average_pool", "max_pool"])
@pytest.mark.parametrize(("N", "M"), [(12, 8), (3, 0)])
def test_gradients_of_pools(name, N, M, rng):
    map = random_map(rng, N, M, 1)
    feats = floats(rng, map.num_in, 2)
    assert gradcheck(lambda each: getattr(site_maps, name)(each, map), (feats,))
    assert gradgradcheck(lambda each: getattr(site_maps, name)(each, map) ** 2, (feats,))


def map_of_pairs(pairs, num_in, num_out):
    """Returns the map of lists of pairs (input row, output row), one for each offset."""
    rows = torch.full((len(pairs), 2, max(map(len, pairs))), -1, dtype=torch.int32)
    for k, each in enumerate(pairs):
        rows[k, :, : len(each)] = torch.tensor(each, dtype=torch.int32).view(-1, 2).T
    num = torch.tensor(list(map(len, pairs)), dtype=torch.int32)
    return KernelMap(rows, num, num_in, num_out)


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("values", "pairs", "winner"),
    [
        # Among equal values: the lowest offset, then the lowest row.
        ([3, 3, 1], [[(1, 0)], [(0, 0)], [(2, 0)]], 1),
        ([3, 3, 1], [[(2, 0), (1, 0), (0, 0)]], 0),
        ([1, 3, 3], [[(0, 0)], [], [(2, 0), (1, 0)]], 1),
        ([-0.0, 0.0], [[(0, 0), (1, 0)]], 0),
        ([-INF, -INF], [[(1, 0)], [(0, 0)]], 1),
        # The first NaN is the maximum.
        ([INF, NAN, NAN], [[(0, 0)], [(2, 0)], [(1, 0)]], 2),
        ([NAN, 5], [[(1, 0)], [(0, 0)]], 0),
        ([1], [[]], None),
    ],
)
def test_the_winner_of_a_maximum(values, pairs, winner):
    feats = torch.tensor(values, dtype=torch.float32).unsqueeze(1).requires_grad_()
    found = site_maps.max_pool(feats, map_of_pairs(pairs, len(values), 1))
    (grad,) = torch.autograd.grad(found.sum(), feats)
    assert grad.flatten().tolist() == [float(i == winner) for i in range(len(values))]
    expected = 0.0 if winner is None else values[winner]
    np.testing.assert_array_equal(found.detach(), [[expected]])
    assert math.copysign(1, found.item()) == math.copysign(1, expected) or math.isnan(expected)


def test_maxima_of_long_segments(rng):
    """More candidates than are compared in one pass, of few different values."""
    feats = torch.from_numpy(rng.integers(0, 9, (9000, 2)).astype(np.float32)).requires_grad_()
    segments = torch.from_numpy(rng.choice([0, 0, 0, 2], 9000))
    found = site_maps.segment_max(feats, segments, 4)
    (grad,) = torch.autograd.grad(found.sum(), feats)
    wanted = torch.zeros_like(feats)
    for segment, channel in itertools.product((0, 2), (0, 1)):
        values = torch.where(segments == segment, feats[:, channel], -1).tolist()
        wanted[values.index(max(values)), channel] = 1
        assert found[segment, channel] == max(values)
    assert torch.equal(grad, wanted)
    assert (found[[1, 3]] == 0).all()


def test_gather_sums(rng):
    feats, weights = floats(rng, 7, 3), floats(rng, 9, 4)
    index = torch.from_numpy(rng.integers(-2, 7, (9, 4)))
    index[3] = -1
    found = site_maps.gather_sum(feats, index, weights)
    expected = torch.zeros(9, 3, dtype=torch.float64)
    for n, j in itertools.product(range(9), range(4)):
        if index[n, j] >= 0:
            expected[n] = expected[n] + weights[n, j] * feats[index[n, j]]
    torch.testing.assert_close(found, expected)
    grads = [torch.autograd.grad((y**2).sum(), (feats, weights)) for y in (found, expected)]
    torch.testing.assert_close(*grads)
    for check in (gradcheck, gradgradcheck):
        assert check(
            lambda *given: site_maps.gather_sum(given[0], index, given[1]), (feats, weights)
        )
    # Weights without an index are not read.
    special = torch.where(index < 0, NAN, weights.detach())
    assert torch.equal(site_maps.gather_sum(feats, index.int(), special), found)


@pytest.mark.parametrize("shape", [(0, 0, 4), (5, 0, 4), (0, 5, 4), (5, 3, 0)])
def test_gather_sums_of_nothing(shape):
    R, N, J = shape
    feats, weights = torch.ones(R, 2, requires_grad=True), torch.ones(N, J, requires_grad=True)
    found = site_maps.gather_sum(feats, torch.full((N, J), -1), weights)
    assert torch.equal(found, torch.zeros(N, 2))
    grads = torch.autograd.grad(found.sum(), (feats, weights))
    assert all(torch.equal(each, torch.zeros_like(each)) for each in grads)


def test_segments(rng):
    feats, segments = floats(rng, 20, 3), torch.from_numpy(rng.choice([0, 1, 4], 20))
    members = [feats[segments == each] for each in range(6)]
    zero = torch.zeros(3, dtype=torch.float64)
    expected = {
        "segment_sum": [each.sum(0) for each in members],
        "segment_mean": [each.mean(0) if len(each) else zero for each in members],
        "segment_max": [each.amax(0) if len(each) else zero for each in members],
    }
    for name, rows in expected.items():
        compute = getattr(site_maps, name)
        torch.testing.assert_close(compute(feats, segments, 6), torch.stack(rows))
        assert gradcheck(lambda each, f=compute: f(each, segments, 6), (feats,))
        assert gradgradcheck(lambda each, f=compute: f(each, segments, 6) ** 2, (feats,))
        empty = compute(feats[:0], segments[:0], 2)
        assert torch.equal(empty, torch.zeros(2, 3, dtype=torch.float64))


def results(rng, dtype):
    """Yields the name of each function, its result, and its gradients."""
    map = random_map(rng, 300, 200, 6)
    feats, kernel = floats(rng, 300, 8, dtype=dtype), floats(rng, 9, 8, 8, dtype=dtype)
    weights, index = (
        floats(rng, 100, 8, dtype=dtype),
        torch.from_numpy(rng.integers(-1, 300, (100, 8))),
    )
    segments = torch.from_numpy(rng.integers(0, 3, 300))
    computed = {
        "convolve": (site_maps.convolve(feats, kernel, map), (feats, kernel)),
        "gather_sum": (site_maps.gather_sum(feats, index, weights), (feats, weights)),
    }
    for name in ("sum_pool", "average_pool", "max_pool"):
        computed[name] = getattr(site_maps, name)(feats, map), (feats,)
    for name in ("segment_sum", "segment_mean", "segment_max"):
        computed[name] = getattr(site_maps, name)(feats, segments, 3), (feats,)
    for name, (result, inputs) in computed.items():
        yield name, result, torch.autograd.grad((result.float() ** 2).sum(), inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_element_types(dtype):
    precise = list(results(np.random.default_rng(5), torch.float64))
    rounded = list(results(np.random.default_rng(5), dtype))
    tolerance = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}[dtype]
    for (name, result, grads), (_, found, found_grads) in zip(precise, rounded):
        for one, other in zip((result, *grads), (found, *found_grads)):
            assert other.dtype is dtype, name
            scale = one.abs().max().item()
            torch.testing.assert_close(
                other.double(), one.detach(), rtol=0, atol=tolerance * scale, msg=name
            )


def test_gather_sums_in_half_with_float32_weights(rng):
    feats = floats(rng, 5, 3, dtype=torch.bfloat16)
    weights, index = floats(rng, 4, 2, dtype=torch.float32), torch.tensor([[0, 1]] * 4)
    found = site_maps.gather_sum(feats, index, weights)
    assert torch.equal(found, site_maps.gather_sum(feats.float(), index, weights).bfloat16())
    grads = torch.autograd.grad(found.sum(), (feats, weights))
    assert [each.dtype for each in grads] == [torch.bfloat16, torch.float32]


def test_convolutions_under_autocast(rng):
    map = random_map(rng, 30, 20)
    feats, kernel = (
        floats(rng, 30, 4, dtype=torch.float32),
        floats(rng, 9, 4, 4, dtype=torch.float32),
    )
    with torch.autocast("cpu"):
        found = site_maps.convolve(feats, kernel, map)
    assert found.dtype is torch.bfloat16
    grads = torch.autograd.grad(found.float().sum(), (feats, kernel))
    assert {each.dtype for each in grads} == {torch.float32}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_same_bits_at_any_number_of_threads(dtype):
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            found.append(list(results(np.random.default_rng(7), dtype)))
    finally:
        torch.set_num_threads(threads)
    for (name, one, grads), (_, other, other_grads) in zip(*found):
        assert torch.equal(one, other), name
        assert all(map(torch.equal, grads, other_grads)), name


def test_refused_arguments(rng):
    map = random_map(rng, 10, 8)
    feats, kernel = torch.ones(10, 2), torch.ones(9, 2, 2)
    index, weights = torch.zeros(4, 3).long(), torch.ones(4, 3)
    refused = [
        (lambda: site_maps.convolve(feats[1:], kernel, map), r"feats has shape \[9, 2\], expected"),
        (lambda: site_maps.convolve(feats, kernel[0, 0], map), r"kernel has shape \[2\], expected"),
        (lambda: site_maps.convolve(feats, kernel[1:], map), "indice_pairs dim 0 is 9, expected 8"),
        (lambda: site_maps.convolve(feats, kernel[:, 1:], map), "features dim 1 is 2, expected 1"),
        (lambda: site_maps.sum_pool(feats[0], map), r"feats has shape \[2\], expected \[10, C\]"),
        (
            lambda: site_maps.max_pool(feats[1:], map),
            r"feats has shape \[9, 2\], expected \[10, C\]",
        ),
        (lambda: site_maps.gather_sum(feats, index[1:], weights), "index and weights have shapes"),
        (lambda: site_maps.gather_sum(feats, index + 10, weights), r"index\[0\] is 10, expected"),
        (lambda: site_maps.gather_sum(feats, weights, weights), "index has dtype torch.float32"),
        (
            lambda: site_maps.segment_sum(feats, index[0], 3),
            r"feats has shape .* expected \[3, C\]",
        ),
        (
            lambda: site_maps.segment_max(feats, torch.arange(10), 9),
            r"segments\[9\] is 9, expected",
        ),
        (
            lambda: site_maps.segment_mean(feats, torch.arange(10) - 1, 9),
            r"segments\[0\] is -1, exp",
        ),
    ]
    for call, message in refused:
        with pytest.raises(mluop_omp.MluOpError, match=message):
            call()
