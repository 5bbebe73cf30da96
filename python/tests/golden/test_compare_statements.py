"""Statements of `compare`: none from rounding errors near the tolerance, all under rounding."""

import numpy as np
import pytest

import mluop_omp
from mluop_omp import SparseSites

compare = mluop_omp.compare
torch = pytest.importorskip("torch")
SHAPES = [(64,), (200, 16), (2, 16, 7, 5), (4, 3, 3, 3), (1, 32, 20, 20), (500, 7)]
NOTHING = ("scattered: ", "a few elements: ", "one element", "everything, ")


def bfloat16(values):
    return torch.from_numpy(np.ascontiguousarray(values, np.float32)).bfloat16()


def rounded(values):
    """Returns float32 elements with 8 significant bits."""
    return bfloat16(values).float().numpy()


def statements(result):
    texts = [result.pattern, *result.notes]
    if result.sites is not None and result.sites.mapping is not None:
        texts.append("mapping")
    return [
        t
        for t in texts
        if t and "common sites" not in t and (";" in t or not t.startswith(NOTHING))
    ]


def magnitudes(rng, b):
    return np.exp(rng.uniform(-4, 4, b.shape[1:2] + (1,) * (b.ndim - 2)))


# Pairs of tensors that differ by rounding only: z is a normal error for each element of b.
NOISE = {
    "few above atol": lambda b, z, rng: (b + z * 2.5e-6, b),
    "ReLU": lambda b, z, rng: (np.maximum(b + z * 3e-6, 0), np.maximum(b, 0)),
    "relative": lambda b, z, rng: (b * (1 + z * 6e-6), b),
    "TF32": lambda b, z, rng: (b * (1 + z * 5e-4), b),
    "channels": lambda b, z, rng: (b * (m := magnitudes(rng, b)) * (1 + z * 1e-5), b * m),
    "nearly constant": lambda b, z, rng: ((100 + b * 1e-3) * (1 + z * 3e-6), 100 + b * 1e-3),
    "bfloat16": lambda b, z, rng: (bfloat16(b * (1 + z * 5e-3)), bfloat16(b)),
    "constant bfloat16": lambda b, z, rng: (
        bfloat16((1 + b / 100) * (1 + z * 5e-3)),
        bfloat16(1 + b / 100),
    ),
    "rounded": lambda b, z, rng: (rounded(b), b + 0 * z),
}


@pytest.mark.parametrize("kind", NOISE)
def test_rounding_errors_have_no_pattern(kind):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        for shape in SHAPES:
            b, z = rng.standard_normal((2, *shape)).astype(np.float32)
            pair = (
                each.astype(np.float32) if isinstance(each, np.ndarray) else each
                for each in NOISE[kind](b, z, rng)
            )
            found = statements(compare(*pair))
            assert [each for each in found if "rounded to bfloat16" not in each] == [], (
                seed,
                shape,
            )


def test_rounding_errors_at_sites_have_no_place():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        sites = np.argwhere(rng.random((2, 6, 20, 20)) < 0.3 * 0.5 ** np.arange(6)[:, None, None])
        features = rng.standard_normal((len(sites), 16)).astype(np.float32)
        noise = rng.standard_normal(features.shape) * 2.5e-6
        found = SparseSites((features + noise).astype(np.float32), sites)
        assert statements(compare(found, SparseSites(features, sites))) == [], seed


def test_nearly_dense_sites_have_no_mapping():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pair = (np.argwhere(rng.random((1, 9, 9, 9)) < share) for share in (0.45, 0.52))
        result = compare(*(SparseSites(np.ones((len(sites), 2)), sites) for sites in pair))
        assert result.sites.mapping is None, seed


@pytest.mark.parametrize("width, values", [(2, 2), (16, 2), (4, 3), (8, 20)])
def test_wrong_integers_are_no_equal_sets(width, values):
    a, b = np.random.default_rng(1).integers(0, values, (2, 300, width))
    assert not any("sets" in note for note in compare(np.where(a > 0, a, b), b).notes)
    if values == 2:
        assert "off by 1" not in compare(a, b).pattern


def line(b):
    factors = np.linspace(0.8, 1.2, b.shape[1]).reshape(-1, *[1] * (b.ndim - 2))
    return factors * b + (1 - factors)


def at_channel_5(b, values):
    found = b.copy()
    found[:, 5] = values
    return found


# What is done to a tensor b, and the statement that names it although the result is rounded.
DEFECTS = [
    (lambda b: 1.01 * b, "found is about 1.01 * expected: diff2 falls from 0.0101 to "),
    (lambda b: at_channel_5(b, 1.25 * b[:, 5]), "indices of dim 1: 5; relative error 0.25 there"),
    (
        lambda b: at_channel_5(b, 1.25 * b[:, 5]),
        "; there found is about a * expected + b, a 1.25, b",
    ),
    (lambda b: at_channel_5(b, b[:, 5] + 0.5), ", a 1, b 0.5"),
    (lambda b: b.swapaxes(-1, -2).reshape(b.shape), "found has the dims of expected in the order"),
    (lambda b: b[:, ::-1], "indices of dim 1 are reversed: diff2 falls from 1."),
    (lambda b: np.roll(b, 3, axis=1), "indices of dim 1 are rotated by 3: "),
    (
        lambda b: b[:, [1, 0, *range(2, b.shape[1])]],
        "indices of dim 1 are permuted: 1 -> 0, 0 -> 1: ",
    ),
    (line, "channels (dim 1) of found are about a * expected + b, a 0.8 to 1.2, b -0.2"),
]


@pytest.mark.parametrize("row", range(len(DEFECTS)))
@pytest.mark.parametrize("shape", [(2, 16, 12, 10), (300, 32), (8, 24, 9, 7)])
def test_defects_are_named_under_rounding(row, shape):
    defect, statement = DEFECTS[row]
    b = np.random.default_rng(row).standard_normal(shape).astype(np.float32)
    result = compare(rounded(defect(b)), b)
    assert statement in "\n".join(result.notes), result
    assert f"{statement}" in str(result)


def test_equal_indices_do_not_hide_a_permutation():
    b = np.random.default_rng(4).standard_normal((4, 16, 5, 6)).astype(np.float32)
    b[:, [2, 5, 6, 11]] = 0
    (note,) = compare(rounded(b[:, [*range(1, 16), 0]]), b).notes
    assert " of 16 indices of dim 1 are " in note and ": diff2 falls from " in note


@pytest.mark.parametrize("factor", [1.25, 1.05])
def test_a_factor_of_rounded_elements_is_exact(factor):
    b = np.random.default_rng(2).standard_normal((64, 48)).astype(np.float32)
    pattern = compare(bfloat16(factor * b), bfloat16(b)).pattern
    assert pattern.endswith(f"each is about {factor} times what is expected")


def test_reversed_filters_are_found_under_rounding():
    filters = np.random.default_rng(3).standard_normal((8, 3, 3, 3, 4)).astype(np.float32)
    found = rounded(filters[:, ::-1, ::-1, ::-1])
    assert "as filters, up to rounding, equal within" in compare(found, filters).notes[0]


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (2, 0, 1), (1, 2, 0)])
def test_the_transposition_of_another_shape_is_found_under_rounding(order):
    b = np.random.default_rng(8).standard_normal((6, 6, 7)).astype(np.float32)
    found = rounded(b.transpose(np.argsort(order)))
    with pytest.raises(ValueError, match="with found.transpose") as failure:
        compare(found, b)
    assert f"with found.transpose{order}, " in str(failure.value)
    assert "elements differ, diff2 0.001" in str(failure.value)


def test_patterns_are_in_the_report_of_runs(tmp_path):
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 8, 1), torch.nn.ReLU()).eval()
    image = torch.randn(2, 2, 24, 24, generator=torch.Generator().manual_seed(0))
    conv, paths = model[0], [tmp_path / "found.npz", tmp_path / "expected.npz"]
    defects = {
        "in the order 0, 1, 3, 2": lambda module, args, output: output.mT,
        "; with found.transpose(0, 3, 1, 2), ": lambda m, args, output: output.permute(0, 2, 3, 1),
    }
    # Samples of other shapes have other elements.
    rows = [(60000, next(iter(defects.items()))), *((2**20, each) for each in defects.items())]
    for max_bytes, (text, defect) in rows:
        torch.manual_seed(0)
        mluop_omp.record(model, image, paths[1], max_bytes=max_bytes)
        hook = conv.register_forward_hook(defect)
        mluop_omp.record(model, image, paths[0], max_bytes=max_bytes)
        hook.remove()
        report = str(mluop_omp.compare_runs(*paths))
        assert "\nfirst difference: 0 (Conv2d)" in report and text in report, report
    with torch.no_grad():
        conv.weight *= 1.5
    mluop_omp.record(model, image, paths[0])
    assert "weight: differ" in (text := str(mluop_omp.compare_runs(*paths)))
    assert "; pattern: everything, 16 of all 16 elements; each is 1.5 times" in text
