"""Keys, and the maps of a manager."""

from __future__ import annotations

import pytest
import torch
from minkowski_lines import ME, line, rows, values

from mluop_omp import MluOpError


def test_keys():
    key = ME.CoordinateMapKey([2, 4], "a")
    assert key == ME.CoordinateMapKey((2, 4), "a") and hash(key) == hash(
        ME.CoordinateMapKey([2, 4], "a")
    )
    assert key != ME.CoordinateMapKey([2, 4], "") and key != "a"
    assert key.get_key() == ([2, 4], "a") and key.get_tensor_stride() == [2, 4]
    assert key.get_coordinate_size() == 3 and key.is_key_set()
    assert repr(key) == "coordinate map key:[2, 4]:a"
    unset = ME.CoordinateMapKey(3)
    assert not unset.is_key_set() and unset != unset and unset != ME.CoordinateMapKey(3)
    assert unset.get_coordinate_size() == 3 and unset.get_tensor_stride() == []
    with pytest.raises(MluOpError, match="is not set"):
        unset.get_key()
    with pytest.raises(MluOpError, match=r"\[1\], expected 2 numbers"):
        unset.set_key([1], "")
    unset.set_key([2, 4], "a")
    assert unset == key
    unset.set_key(([1, 1], ""))
    assert unset.get_key() == ([1, 1], "")


def test_a_taken_key_gets_five_characters():
    x = line({-1: 1, 2: 2}, stride=2)
    y = line({-1: 1, 2: 2}, stride=2, like=x)
    assert x.coordinate_map_key.get_key() == ([2], "")
    stride, string_id = y.coordinate_map_key.get_key()
    assert stride == [2] and len(string_id) == 5
    assert line({5: 1}, stride=2, like=x).coordinate_map_key != y.coordinate_map_key
    stride, string_id = x.coordinate_manager.get_unique_coordinate_map_key(2)
    assert stride == [2] and len(string_id) == 5


def test_tensors_have_managers_of_their_own_unless_they_share_one():
    assert line({1: 1}).coordinate_manager is not line({1: 1}).coordinate_manager
    share = ME.SparseTensorOperationMode.SHARE_COORDINATE_MANAGER
    try:
        ME.set_sparse_tensor_operation_mode(share)
        assert ME.sparse_tensor_operation_mode() is share
        x, y = line({-1: 1}), line({2: 1})
        assert x.coordinate_manager is y.coordinate_manager is ME.global_coordinate_manager()
        assert values(x + y) == {-1: 1, 2: 1}
        ME.clear_global_coordinate_manager()
        assert ME.global_coordinate_manager() is None
        manager = ME.CoordinateManager(D=1)
        ME.set_global_coordinate_manager(manager)
        assert line({2: 1}).coordinate_manager is manager
    finally:
        ME.set_sparse_tensor_operation_mode(
            ME.SparseTensorOperationMode.SEPARATE_COORDINATE_MANAGER
        )
        ME.clear_global_coordinate_manager()
    with pytest.raises(MluOpError, match="operation_mode is 1"):
        ME.set_sparse_tensor_operation_mode(1)


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_a_strided_key_has_the_floors_and_is_reused(D):
    sites = torch.randint(-9, 9, (50, 1 + D), generator=torch.Generator().manual_seed(D)).int()
    sites[:, 0].remainder_(3)
    x = ME.SparseTensor(torch.ones(50, 1), sites)
    manager, key = x.coordinate_manager, x.coordinate_map_key
    steps = list(range(2, 2 + D))
    strided = manager.stride(key, steps)
    assert strided.get_key() == (steps, "")
    cells = sites[:, 1:].div(torch.tensor(steps), rounding_mode="floor") * torch.tensor(steps)
    expected = torch.cat((sites[:, :1], cells.int()), 1).unique(dim=0)
    found = manager.get_coordinates(strided)
    assert found.dtype == torch.int32 and torch.equal(found, expected)
    assert manager.size(strided) == len(expected)
    assert manager.stride(key, steps) == strided
    inputs, outputs = manager.stride_map(key, strided)
    assert inputs.tolist() == list(range(len(x)))
    assert torch.equal(found[outputs][:, 0], x.C[:, 0])
    distance = x.C[:, 1:] - found[outputs][:, 1:]
    assert (distance >= 0).all() and (distance < torch.tensor(steps)).all()
    # An existing key is returned, whatever its sites are.
    other = manager.insert_and_map(torch.zeros(1, 1 + D).int(), [7] * D, "")[0]
    assert manager.stride(key, 7) == other and manager.size(other) == 1
    assert manager.stride(key, 2, "name").get_key() == ([2] * D, "name")


def test_the_string_of_a_key_stays_with_its_strides():
    x = line({-3: 1, 5: 2})
    key, _ = x.coordinate_manager.insert_and_map(rows([-3, 4, 5]), 1, "second")
    strided = x.coordinate_manager.stride(key, 2)
    assert strided.get_key() == ([2], "second")
    assert x.coordinate_manager.get_coordinates(strided).tolist() == rows([-4, 4]).tolist()


def test_integers_beyond_float32_are_floored_exactly():
    x = line({16777219: 1, -16777219: 2})
    strided = x.coordinate_manager.stride(x.coordinate_map_key, 2)
    assert x.coordinate_manager.get_coordinates(strided)[:, 1].tolist() == [-16777220, 16777218]


def test_a_transposed_key_is_reused_unchecked():
    x = line({(4, 4): 1}, stride=4)
    manager, key = x.coordinate_manager, x.coordinate_map_key

    def square(size):
        axis = torch.arange(size, dtype=torch.int32) - size // 2 * (size % 2)
        return torch.cartesian_prod(axis, axis) * 2

    two = manager.transposed(key, [2, 2], square(2))
    assert two.get_key() == ([2, 2], "") and manager.size(two) == 4
    assert manager.transposed(key, [2, 2], square(3)) == two
    alone = line({(4, 4): 1}, stride=4)
    three = alone.coordinate_manager.transposed(alone.coordinate_map_key, [2, 2], square(3))
    assert alone.coordinate_manager.size(three) == 9
    with pytest.raises(MluOpError, match=r"tensor stride is \[4, 4\], expected multiples of \[3"):
        manager.transposed(key, [3, 3], square(3))


def test_reached_keys_are_never_reused():
    x = line({-1: 1, 4: 1})
    manager, offsets = x.coordinate_manager, torch.tensor([[-1], [0], [1]], dtype=torch.int32)
    key = manager.reached(x.coordinate_map_key, [2], offsets)
    assert key.get_key() == ([2], "")
    assert manager.get_coordinates(key)[:, 1].tolist() == [-2, 0, 4]
    again = manager.reached(x.coordinate_map_key, [2], offsets, aligned=False)
    assert again != key and again.get_tensor_stride() == [2]
    assert manager.get_coordinates(again)[:, 1].tolist() == [-2, -1, 0, 3, 4, 5]


def test_a_pruned_tensor_returns_to_all_fine_sites():
    x = line({0: 1, 1: 2, 4: 3, 5: 4})
    pool = ME.MinkowskiSumPooling(2, 2, dimension=1)
    up = ME.MinkowskiConvolutionTranspose(1, 1, kernel_size=2, stride=2, dimension=1).double()
    coarse = pool(x)
    pruned = ME.MinkowskiPruning()(coarse, coarse.C[:, 1] == 0)
    assert values(pruned) == {0: 3}
    back = up(pruned)
    assert back.coordinate_map_key == x.coordinate_map_key
    assert [values(back)[site] == 0 for site in (0, 1, 4, 5)] == [False, False, True, True]


def test_pool_and_convolution_of_equal_stride_have_one_key():
    x = line({-3: 1, -2: 10, 5: 100})
    convolution = ME.MinkowskiConvolution(1, 2, kernel_size=3, stride=2, dimension=1).double()
    joined = ME.cat(convolution(x), ME.MinkowskiSumPooling(2, 2, dimension=1)(x))
    assert joined.shape == (3, 3) and joined.C[:, 1].tolist() == [-4, -2, 4]


# The manager.


def test_the_first_key_of_a_stride_stands_for_it():
    x = line({-1: 1, 2: 2})
    line({7: 1}, like=x)
    manager = x.coordinate_manager
    assert manager.get_coordinates(1).tolist() == manager.get_coordinates([1]).tolist()
    assert manager.get_coordinates(1).tolist() == rows([-1, 2]).tolist()
    manager.get_coordinates(1).zero_()
    assert manager.get_coordinates(1).tolist() == rows([-1, 2]).tolist()
    with pytest.raises(MluOpError, match=r"no key has the tensor stride \[5\]"):
        manager.get_coordinates(5)
    assert "coordinate map key:[1]" in repr(manager)
    with pytest.raises(ValueError, match="D is 0"):
        ME.CoordinateManager()


def test_kernel_map():
    x = line({-3: 1, -2: 10, 0: 100, 1: 1000, 5: 10000})
    manager, key = x.coordinate_manager, x.coordinate_map_key
    pairs = manager.kernel_map(key, key, kernel_size=3)
    assert {k: each.tolist() for k, each in pairs.items()} == {
        0: [[0, 2], [1, 3]],
        1: [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]],
        2: [[1, 3], [0, 2]],
    }
    assert all(each.dtype == torch.int32 for each in pairs.values())
    # -4, -2, 0 and 4; offsets 0 and 1.
    coarse = manager.stride(key, 2)
    forward = {0: [[1, 2], [1, 2]], 1: [[0, 3, 4], [0, 2, 3]]}
    pairs = manager.kernel_map(key, coarse, stride=2, kernel_size=2)
    assert {k: each.tolist() for k, each in pairs.items()} == forward
    back = manager.kernel_map(coarse, 1, stride=2, kernel_size=2, is_transpose=True)
    assert {k: each.flip(0).tolist() for k, each in back.items()} == forward
    pool = manager.get_kernel_map(1, 2, stride=2, kernel_size=2, is_pool=True)
    assert {k: each.tolist() for k, each in pool.items()} == {0: [[0, 1, 2, 3, 4], [0, 1, 2, 2, 3]]}
    cross = ME.RegionType.HYPER_CROSS
    assert list(manager.kernel_map(key, key, kernel_size=1, region_type=cross)) == [0]
    assert 0 in manager.kernel_map(key, key, kernel_size=3, region_type=cross)


def test_kernel_maps_are_computed_once():
    x = line({-1: 1, 2: 2})
    manager, key = x.coordinate_manager, x.coordinate_map_key
    offsets = torch.tensor([[0], [3]], dtype=torch.int32)
    pairs = manager.kernel_map_of(key, key, offsets)
    assert manager.kernel_map_of(key, key, offsets.clone()) is pairs
    assert manager.kernel_map_of(key, key, offsets[:1]) is not pairs
    named = manager.kernel_map_of(key, key, offsets, "name")
    assert named is not pairs and manager.kernel_map_of(key, key, offsets, "name") is named


def test_a_stride_map_leaves_out_sites_without_a_floor():
    x = line({-3: 1, 2: 2, 7: 3})
    key, _ = x.coordinate_manager.insert_and_map(rows([6, -4]), 2)
    inputs, outputs = x.coordinate_manager.stride_map(x.coordinate_map_key, key)
    assert inputs.tolist() == [0, 2] and outputs.tolist() == [1, 0]


def test_the_origin_has_the_batches_ascending():
    sites = torch.tensor([[5, 1], [0, -1], [2, 3], [0, 4]], dtype=torch.int32)
    x = ME.SparseTensor(torch.ones(4, 1), sites)
    manager = x.coordinate_manager
    origin = manager.origin()
    assert origin.get_key() == ([0], "") and manager.origin() == origin == manager.origin_field()
    assert manager.get_coordinates(origin).tolist() == [[0, 0], [2, 0], [5, 0]]
    assert manager.number_of_unique_batch_indices() == 3
    batches, by_number = manager.origin_map(x.coordinate_map_key)
    assert batches.tolist() == [0, 2, 5]
    assert [each.tolist() for each in by_number] == [[1, 3], [], [2], [], [], [0]]
    # Later sites of the same batches change nothing; a new batch makes another key.
    manager.insert_and_map(rows([9], batch=2), 4)
    assert manager.origin() == origin
    manager.insert_and_map(rows([9], batch=3), 4)
    assert manager.origin() != origin and manager.origin().get_tensor_stride() == [0]
    assert manager.number_of_unique_batch_indices() == 4
    segments, batches = manager.origin_rows(x.coordinate_map_key)
    assert segments.tolist() == [3, 0, 1, 0] and batches.tolist() == [0, 2, 3, 5]
    assert manager.size(origin) == 3


def test_negative_batches_have_no_rows_by_number():
    x = ME.SparseTensor(torch.ones(1, 1), rows([1], batch=-1))
    with pytest.raises(MluOpError, match="a site has batch -1"):
        x.decomposed_features  # noqa: B018


def test_an_empty_manager():
    manager = ME.CoordinateManager(D=2)
    assert manager.number_of_unique_batch_indices() == 0
    x = ME.SparseTensor(torch.ones(0, 3), torch.zeros(0, 3).int(), coordinate_manager=manager)
    assert x.decomposed_features == [] and len(x.C) == 0
    assert manager.size(manager.stride(x.coordinate_map_key, 2)) == 0
