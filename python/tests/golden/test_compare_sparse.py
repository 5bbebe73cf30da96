"""mluop_omp.compare on sparse tensors: rows joined by coordinate."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mluop_omp import SparseSites, compare
from mluop_omp.golden.comparison import _sites
from mluop_omp.torch import SparseTensor

SPACE = (9, 40, 30)
CHANNELS = 8


def make(rng: np.random.Generator, count: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Returns features and different sites of two batches."""
    linear = rng.permutation(2 * np.prod(SPACE))[:count]
    indices = np.stack(np.unravel_index(linear, (2, *SPACE)), 1).astype(np.int32)
    return rng.standard_normal((count, CHANNELS)).astype(np.float32), indices


@pytest.fixture
def sparse(rng):
    return make(rng)


def against(sparse, features, indices):
    """Compares features at sites with others."""
    return compare(SparseSites(features, indices), SparseSites(*sparse))


def test_rows_in_another_order_are_equal(rng, sparse):
    features, indices = sparse
    for order in (rng.permutation(len(features)), np.arange(len(features))):
        result = against(sparse, features[order], indices[order])
        assert result and result.figures["differing"] == 0
        is_same = bool((np.diff(order) > 0).all())
        assert result.sites.same_order == is_same
        assert ("rows are in another order (ignored)" in str(result)) != is_same


@pytest.mark.parametrize(
    "kind", ["features indices", "F C", "feats coords", "ours", "COO", "spconv"]
)
def test_sparse_tensors_of_each_library(sparse, kind):
    features, indices = sparse
    tensors = torch.from_numpy(features), torch.from_numpy(indices)
    if kind == "ours":
        other = SparseTensor(*tensors, SPACE, 2)
    elif kind == "spconv":
        spconv = pytest.importorskip("spconv.pytorch")
        other = spconv.SparseConvTensor(*tensors, list(SPACE), 2)
    elif kind == "COO":
        size = (2, *SPACE, CHANNELS)
        other = torch.sparse_coo_tensor(tensors[1].T, tensors[0], size, check_invariants=True)
    else:
        other = SimpleNamespace(**dict(zip(kind.split(), tensors)))
    expected = SparseSites(features[::-1], indices[::-1])
    assert compare(other, expected) and compare({"x": other}, {"x": expected})


def test_missing_extra_repeated_and_outside_sites_are_counted(sparse):
    features, indices = sparse
    expected = SparseSites(features[:-3], indices[:-3], SPACE, 2)
    rows = [*range(5, 500), 7, 7]
    found = SparseSites(features[rows], indices[rows].copy(), SPACE, 2)
    found.indices[-1] = [0, SPACE[0], 0, 0]
    result = compare(found, expected)
    sites = result.sites
    assert not result
    assert (sites.found, sites.expected, sites.common) == (497, 497, 492)
    # Three rows, the second of a site, and one out of range.
    assert (sites.only_found, sites.only_expected) == (5, 5)
    assert (sites.repeated_found, sites.repeated_expected) == (1, 0)
    assert (sites.outside_found, sites.outside_expected) == (1, 0)
    assert set(sites.examples["only_expected"]) == set(map(tuple, indices[:5].tolist()))
    assert sites.examples["outside_found"] == [(0, SPACE[0], 0, 0)]
    assert result.figures["differing"] == 0 and result.figures["elements"] == 492 * CHANNELS
    first = str(result).splitlines()[0]
    assert first.startswith("differ: 5 sites only in found; 5 sites only in expected; ")


def test_rows_of_a_site_are_joined_in_their_order(rng, sparse):
    features, indices = sparse
    indices = np.concatenate([indices, indices[:9], indices[:3]])
    features = rng.standard_normal((len(indices), CHANNELS))
    stable = sorted(range(len(indices)), key=lambda row: tuple(indices[row]))
    result = against((features, indices), features[stable], indices[stable])
    assert result and result.sites.repeated_found == result.sites.repeated_expected == 12


def test_wrong_values_are_at_their_sites(rng, sparse):
    features, indices = sparse
    order = rng.permutation(len(features))
    spoiled = features.copy()
    spoiled[123, 6] += 10
    result = against(sparse, spoiled[order], indices[order])
    (worst,) = result.worst
    assert worst.index == (123, 6) and worst.site == tuple(indices[123].tolist())
    assert f"({','.join(map(str, worst.site))}) (6)" in str(result)
    later = [row for row in order if row > 9]
    result = against(sparse, spoiled[later], indices[later])
    assert result.worst == (worst,)
    spoiled = features.copy()
    spoiled[:, 3] *= 2
    result = against(sparse, spoiled[order], indices[order])
    assert re.search("one channel: .*3 of 8", result.pattern)


def test_what_wrong_sites_have_in_common_is_named(sparse):
    features, indices = sparse
    wrong = features + (indices[:, 1:2] == 3)
    notes = against(sparse, wrong, indices).notes
    count = (indices[:, 1] == 3).sum()
    assert f"{count} of 500 sites are wrong; their indices are 3 in column 1" in notes


# How the sites of found derive from the sites of expected, and the proposed mapping.
MAPPINGS = {
    "axes reversed": (lambda s: s[:, [0, 3, 2, 1]], ((0, 3, 2, 1), 1, 1, (0, 0, 0))),
    "batch last": (lambda s: s[:, [1, 2, 3, 0]], ((3, 0, 1, 2), 1, 1, (0, 0, 0))),
    "xyz, batch last": (lambda s: s[:, [3, 2, 1, 0]], ((3, 2, 1, 0), 1, 1, (0, 0, 0))),
    "strided": (lambda s: s * [1, 4, 4, 4], ((0, 1, 2, 3), 1, 4, (0, 0, 0))),
    "moved": (lambda s: s + [0, 1, 1, 1], ((0, 1, 2, 3), 1, 1, (-1, -1, -1))),
    "moved along y": (lambda s: s - [0, 0, 1, 0], ((0, 1, 2, 3), 1, 1, (0, 1, 0))),
    "both": (lambda s: s[:, [0, 3, 2, 1]] * [1, 2, 2, 2], ((0, 3, 2, 1), 1, 2, (0, 0, 0))),
}


@pytest.mark.parametrize("name", list(MAPPINGS))
def test_a_mapping_of_the_sites_is_proposed(sparse, name):
    change, expected = MAPPINGS[name]
    features, indices = sparse
    result = against(sparse, features, change(indices))
    mapping = result.sites.mapping
    assert not result
    assert (mapping.columns, mapping.multiply, mapping.divide, mapping.offset) == expected
    assert mapping.matches == 500
    assert "500 of 500 sites of found would match with" in str(result)
    is_permuted = mapping.columns != (0, 1, 2, 3)
    option = f"--columns {','.join(map(str, mapping.columns))}"
    assert (option in str(result)) == is_permuted
    if mapping.divide == 1 and is_permuted:
        pair = SparseSites(features, change(indices)), SparseSites(*sparse)
        assert compare(*pair, columns=mapping.columns)
        assert compare({"x": [pair[0]]}, {"x": [pair[1]]}, columns=[mapping.columns])
        assert not compare(*pair, columns=(0, 2, 1, 3))


def test_columns_apply_to_extents_pages_and_further_mappings(sparse, tmp_path):
    features, indices = sparse
    expected = SparseSites(features, indices, SPACE, 2)
    for columns in [(0, 3, 2, 1), (3, 0, 1, 2), (3, 2, 1, 0), (0, 2, 3, 1)]:
        back = np.argsort(columns)
        space = [SPACE[column - 1] for column in back if column]
        found = SparseSites(features + (indices[:, 1:2] == 3), indices[:, back], space, 2)
        result = compare(found, expected, columns=columns)
        assert result.sites.equal and result.sites.outside_found == 0
        assert result.worst[0].site[1] == 3
        result.html(tmp_path / "page.html")
        assert "cannot be read" not in (tmp_path / "page.html").read_text()
    # A wrong order is given: the proposal is the whole order.
    found = SparseSites(features, indices[:, [0, 3, 2, 1]])
    assert compare(found, expected, columns=(0, 2, 3, 1)).sites.mapping.columns == (0, 3, 2, 1)
    # Other numbers of columns have orders of their own.
    assert compare(found, expected, columns=[(0, 2, 1), (0, 3, 2, 1)])


@pytest.mark.parametrize("columns", [(0, 1, 1), (1, 2, 3), (0,), [(0, 1), (1, 0)], (0, -1)])
def test_columns_that_are_no_order_are_refused(sparse, columns):
    with pytest.raises(ValueError, match="columns is"):
        compare(SparseSites(*sparse), SparseSites(*sparse), columns=columns)


def test_of_several_mappings_the_simplest_is_proposed():
    """All orders of the axes map the diagonal to itself."""
    sites, features = np.arange(0, 80, 2)[:, None] * [0, 1, 1, 1], np.ones((40, 1))
    mapping = against((features, sites), features, sites + [0, 1, 1, 1]).sites.mapping
    assert (mapping.columns, mapping.offset) == ((0, 1, 2, 3), (-1, -1, -1))


def test_no_mapping_is_proposed_where_none_is(rng, sparse):
    features, indices = sparse
    other = indices + rng.integers(100, 10**6, indices.shape)
    other[:240] = indices[:240] + [0, 1, 1, 1]  # less than half of them
    for sites in (indices[:400], other):
        assert against(sparse, features[: len(sites)], sites).sites.mapping is None


def dense_of(features: np.ndarray, indices: np.ndarray) -> np.ndarray:
    dense = np.zeros((2, *SPACE, CHANNELS), np.float32)
    dense[tuple(indices.T)] = features
    return np.moveaxis(dense, -1, 1)


def test_a_dense_tensor_is_compared_at_the_sites(sparse, monkeypatch):
    monkeypatch.setattr(_sites, "_BLOCK", 1000)
    features, indices = sparse
    dense, tensor = dense_of(features, indices), SparseSites(features, indices)
    assert compare(dense, tensor) and compare(tensor, dense)
    torch_dense = torch.from_numpy(dense).bfloat16()
    torch_dense[0, 0][torch_dense[0, 0] == 0] = -0.0
    assert compare(tensor, torch_dense)
    free = max(set(np.ndindex(2, *SPACE)) - set(map(tuple, indices.tolist())))
    dense[free[0], 5][free[1:]] = np.nan
    result = compare(dense, tensor)
    assert not result and result.sites.elsewhere == 1
    assert result.sites.examples["elsewhere"] == [(free[0], 5, *free[1:])]
    dense = dense_of(features, indices)
    dense[indices[17][0], 2][tuple(indices[17][1:])] += 1
    assert compare(tensor, dense).worst[0].site == tuple(indices[17].tolist())


def test_a_coo_tensor_and_a_dense_one(tmp_path):
    dense = torch.arange(24.0).view(2, 3, 4) - 7
    assert compare(dense.to_sparse(), dense) and compare(dense, dense.to_sparse())
    result = compare(dense + (dense == 3), dense.to_sparse())
    assert result.worst[0].site == (0, 2, 2) and result.figures["wrong"] == 1
    result.html(tmp_path / "page.html")
    with pytest.raises(
        ValueError, match=r"shape of found is \[2, 1, 3\], expected \[batches, 1, and"
    ):
        compare(dense[:, :, 0], dense.to_sparse())


@pytest.mark.parametrize("values", [[-(2**63), 2**63 - 1, 0, 1, -1, 2**40], range(0, 2**30, 3**9)])
def test_keys_of_any_coordinates_join(rng, values):
    rows = rng.choice(np.array(values), (200, 5))
    rows[100:, :3] = rows[:100, :3]
    keys = _sites.linear_keys(rows)
    order = np.lexsort(rows.T[::-1])
    assert (np.diff(keys[order]) >= 0).all()
    same = (rows[order][1:] == rows[order][:-1]).all(1)
    assert ((np.diff(keys[order]) == 0) == same).all()
    features = rng.random((200, 1))
    assert compare(SparseSites(features, rows), SparseSites(features, rows.copy()))


@pytest.mark.parametrize(("found", "expected"), [(0, 0), (0, 5), (5, 0)])
def test_tensors_without_sites(rng, found, expected):
    features, indices = make(rng, 5)
    result = compare(
        SparseSites(features[:found], indices[:found]),
        SparseSites(features[:expected], indices[:expected]),
    )
    assert result.equal == (found == expected)
    assert str(result).startswith("equal: no sites" if result.equal else "differ: ")
    assert (result.sites.only_found, result.sites.only_expected) == (found, expected)


# The shape of the features, the indices, the extents, and the error.
REFUSED = [
    ((5, 8), np.zeros((4, 4), int), None, "ValueError: .*5 rows of features and 4 rows of indices"),
    (
        (5, 8),
        np.zeros(5, int),
        None,
        r"ValueError: .*features \[5, 8\] and indices \[5\], expected",
    ),
    ((5, 8), np.zeros((5, 1), int), None, r"ValueError: .*indices \[5, 1\]"),
    ((), np.zeros((5, 4), int), None, r"ValueError: .*features \[\]"),
    ((5, 8), np.zeros((5, 4), bool), None, "TypeError: .*dtype bool, expected numbers"),
    ((5, 8), np.zeros((5, 3), int), None, "ValueError: .*columns of the indices differ: found 3"),
    ((5, 7), np.zeros((5, 4), int), None, r"ValueError: channels differ: .*features \[5, 7\]"),
    ((5, 8), np.full((5, 4), 2**63, np.uint64), None, "ValueError: .*9223372036854775808"),
    ((5, 8), np.zeros((5, 4), int), (3, 4), "ValueError: .*has 2 extents, expected 3"),
]


@pytest.mark.parametrize(("features", "indices", "extents", "text"), REFUSED)
def test_what_is_no_sparse_tensor_is_refused(sparse, features, indices, extents, text):
    with pytest.raises((ValueError, TypeError)) as error:
        compare(SparseSites(np.zeros(features), indices, extents), SparseSites(*sparse))
    assert re.match(text, f"{error.typename}: {error.value}")


def test_a_dense_tensor_of_another_shape_is_refused(sparse):
    dense = dense_of(*sparse)
    for wrong in (dense[0], dense[:, :3], np.moveaxis(dense, 1, -1)):
        with pytest.raises(ValueError, match="the shape of found is .* expected"):
            compare(wrong, SparseSites(*sparse))
