"""Nodes of grid sampling and rotation against grid_sample of PyTorch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

import examples_sampling as examples  # noqa: E402
import onnx_formulas as plain  # noqa: E402
from onnx_graph import evaluate  # noqa: E402
from torch.nn.functional import grid_sample  # noqa: E402

from mluop_omp import MluOpError, Status  # noqa: E402

MODES = ["bilinear", "nearest", "bicubic"]
PADDINGS = ["zeros", "border", "reflection"]
ALL_MODES = list(itertools.product(range(3), range(3), (0, 1)))
ROTATIONS = [("", "RotateTRT"), ("", "RotateTRT2"), ("custom_op", "RotatePlugin")]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def attributes_of(interpolation: int, padding: int, align_corners: int) -> dict[str, int]:
    return {
        "interpolation_mode": interpolation,
        "padding_mode": padding,
        "align_corners": align_corners,
    }


def sampled(image, grid, interpolation=0, padding=0, align_corners=0):
    arrays = torch.from_numpy(image), torch.from_numpy(grid)
    names = MODES[interpolation], PADDINGS[padding], bool(align_corners)
    return grid_sample(*arrays, *names).numpy()


def assert_close(found, expected, tolerance=2e-5):
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("modes", ALL_MODES)
def test_grid_sampler(modes):
    for seed, domain in enumerate(("mmdeploy", "mmcv")):
        image, grid = examples.image_and_grid(rng(seed))
        inputs, attributes = [image, grid], attributes_of(*modes)
        assert_close(
            evaluate(domain, "grid_sampler", inputs, attributes)[0], sampled(*inputs, *modes)
        )
        inputs = [each.astype(np.float64) for each in inputs]
        (found,) = evaluate(domain, "grid_sampler", inputs, attributes)
        assert_close(found, sampled(*inputs, *modes), 1e-12)


@pytest.mark.parametrize("modes", [each for each in ALL_MODES if each[0] < 2])
def test_grid_sampler_of_volumes(modes):
    inputs = examples.image_and_grid(rng(2), 3)
    (found,) = evaluate("mmdeploy", "grid_sampler", inputs, attributes_of(*modes))
    assert_close(found, sampled(*inputs, *modes))


@pytest.mark.parametrize(
    "name, dimensions",
    [
        ("GridSampler2DTRT", 2),
        ("GridSampler2DTRT2", 2),
        ("GridSampler3DTRT", 3),
        ("GridSampler3DTRT2", 3),
    ],
)
def test_grids_of_planes(name, dimensions):
    image, grid = examples.image_and_grid(rng(3), dimensions)
    for modes in ((0, 0, 0), (1, 1, 1), (0, 2, 0)):
        inputs = [image, examples.planes(grid)]
        (found,) = evaluate("", name, inputs, attributes_of(*modes))
        assert_close(found, sampled(image, grid, *modes))


@pytest.mark.parametrize("name", ["grid_sampler", "GridSampler2DTRT", "GridSampler3DTRT2"])
def test_defaults(name):
    inputs, _ = examples.EXAMPLES[name](rng(4))
    domain = "mmcv" if name == "grid_sampler" else ""
    found = [evaluate(domain, name, inputs, each)[0] for each in ({}, attributes_of(0, 0, 0))]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["grid_sampler", "GridSampler2DTRT", "RotateTRT"])
def test_half_precision_is_rounded_once(name):
    inputs, attributes = examples.EXAMPLES[name](rng(5))
    domain = "mmcv" if name == "grid_sampler" else ""
    half = [each.astype(np.float16) for each in inputs]
    single = [each.astype(np.float32) for each in half]
    (found,) = evaluate(domain, name, half, attributes)
    (expected,) = evaluate(domain, name, single, attributes)
    np.testing.assert_array_equal(found, expected.astype(np.float16), strict=True)


def test_an_image_with_one_pixel():
    grid = rng(6).uniform(-3, 3, (1, 4, 4, 2)).astype(np.float32)
    image = np.full((1, 2, 1, 1), 5, np.float32)
    for modes in ALL_MODES:
        (found,) = evaluate("mmcv", "grid_sampler", [image, grid], attributes_of(*modes))
        assert_close(found, sampled(image, grid, *modes))


def test_the_nearest_of_a_half_is_even():
    image = np.arange(8, dtype=np.float32).reshape(1, 1, 1, 8)
    x = (2 * (np.arange(-1, 8) + 0.5) + 1) / 8 - 1
    grid = np.stack((x, np.zeros(9)), -1).astype(np.float32).reshape(1, 1, 9, 2)
    (found,) = evaluate("mmcv", "grid_sampler", [image, grid], attributes_of(1, 0, 0))
    assert found.ravel().tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 0]
    assert_close(found, sampled(image, grid, 1))


def test_positions_that_are_not_finite():
    image, grid = examples.image_and_grid(rng(7))
    grid[0, 0, :3, 0] = np.inf, -np.inf, np.nan
    for interpolation in range(3):
        modes = attributes_of(interpolation, 0, 0)
        (found,) = evaluate("mmcv", "grid_sampler", [image, grid], modes)
        assert (found[0, :, 0, :3] == 0).all() and np.isfinite(found).all()


def test_pixels_outside_are_not_read():
    image, grid = examples.image_and_grid(rng(8))
    image[:, :, 0, 0] = np.nan
    grid[...] = 5
    (found,) = evaluate("mmcv", "grid_sampler", [image, -grid])
    assert (found == 0).all()


def test_empty_inputs():
    image, grid = examples.image_and_grid(rng())
    empty = [(image[:0], grid[:0]), (image[:, :0], grid), (image, grid[:, :0])]
    for inputs in empty:
        (found,) = evaluate("mmcv", "grid_sampler", list(inputs))
        assert found.shape == (len(inputs[0]), inputs[0].shape[1], *inputs[1].shape[1:3])
    inputs, attributes = examples.rotate(rng())
    for empty_image in (inputs[0][:0], inputs[0][:, :0]):
        rotated = [empty_image, *inputs[1:]]
        if empty_image.shape[1]:
            (found,) = evaluate("", "RotateTRT", rotated, attributes)
            assert found.shape == empty_image.shape
        else:
            with pytest.raises(MluOpError, match="expected pixels"):
                evaluate("", "RotateTRT", rotated, attributes)


@pytest.mark.parametrize("interpolation", [0, 1])
@pytest.mark.parametrize("domain, name", ROTATIONS)
def test_rotate(domain, name, interpolation):
    (image, _, center), _ = examples.rotate(rng(9))
    for angle in (33.0, -250.0):
        for degrees in (np.array([angle], np.float32), np.array(angle, np.float32)):
            (found,) = evaluate(
                domain, name, [image, degrees, center], {"interpolation": interpolation}
            )
            expected = plain.rotated(image, angle, center, MODES[interpolation])
            np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-4)


def test_rotation_is_counter_clockwise():
    image = rng(10).standard_normal((2, 6, 6)).astype(np.float32)
    inputs = [image, np.array(90, np.float32), np.array([3, 3], np.float32)]
    (found,) = evaluate("custom_op", "RotatePlugin", inputs)
    np.testing.assert_array_equal(found, np.rot90(image, 1, (1, 2)))


@pytest.mark.parametrize(
    "change, modes, match, status",
    [
        ({}, (3, 0, 0), "attribute interpolation_mode is 3, expected 0 or 1 or 2", "BAD_PARAM"),
        ({}, (0, -1, 0), "attribute padding_mode is -1", "BAD_PARAM"),
        ({}, (0, 0, 2), "attribute align_corners is 2", "BAD_PARAM"),
        ({1: np.float64}, (0, 0, 0), "input grid has dtype float64, expected float32", "BAD_PARAM"),
        ({1: (2, 3, 4, 3)}, (0, 0, 0), "input grid has shape .* expected 2 grids", "BAD_PARAM"),
        ({1: (1, 3, 4, 2)}, (0, 0, 0), "input grid has shape", "BAD_PARAM"),
        ({1: (2, 3, 2)}, (0, 0, 0), "input and grid have shapes", "BAD_PARAM"),
        ({0: (2, 3, 0, 7)}, (0, 0, 0), "input has shape .* expected pixels", "BAD_PARAM"),
        (
            {0: (2, 3, 5, 6, 7), 1: (2, 2, 3, 4, 3)},
            (2, 0, 0),
            "interpolation_mode is 2 .bicubic., expected 0 or 1 for a volume",
            "NOT_SUPPORTED",
        ),
    ],
)
def test_wrong_arguments(change, modes, match, status):
    inputs = examples.image_and_grid(rng())
    for index, what in change.items():
        is_shape = isinstance(what, tuple)
        inputs[index] = np.zeros(what, np.float32) if is_shape else inputs[index].astype(what)
    with pytest.raises(MluOpError, match=f"^grid_sampler: {match}") as caught:
        evaluate("mmcv", "grid_sampler", inputs, attributes_of(*modes))
    assert caught.value.status is Status[status]


@pytest.mark.parametrize(
    "change, attributes, match",
    [
        ({}, {"interpolation": 2}, "attribute interpolation is 2, expected 0 or 1"),
        ({}, {}, "attribute interpolation is missing"),
        ({1: (2,)}, {"interpolation": 0}, "input angle has shape .2., expected one element"),
        ({2: (3,)}, {"interpolation": 0}, "input center has dimension 0 of size 3, expected 2"),
    ],
)
def test_wrong_rotations(change, attributes, match):
    inputs, _ = examples.rotate(rng())
    for index, shape in change.items():
        inputs[index] = np.zeros(shape, np.float32)
    with pytest.raises(MluOpError, match=f"^RotateTRT: {match}"):
        evaluate("", "RotateTRT", inputs, attributes)
