"""mluop_omp.compare on dense tensors and containers, against the formulas in plain NumPy."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch

import mluop_omp
from mluop_omp import compare

RTOL = {"float16": 1e-3, "bfloat16": 1.6e-2, "float32": 1.3e-6, "float64": 1e-7}
FLOATS = tuple(RTOL)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


def as_dtype(values: np.ndarray, dtype: str) -> torch.Tensor:
    return torch.from_numpy(values).to(getattr(torch, dtype))


def wide(tensor: torch.Tensor) -> np.ndarray:
    return tensor.double().numpy()


def definition(e: np.ndarray, b: np.ndarray, threshold: float) -> dict[str, float]:
    """Returns the figures of finite numbers."""
    error, size = np.abs(e - b), np.abs(b)
    is_large = size > threshold
    return {
        "elements": e.size,
        "above": (e > b).sum(),
        "below": (e < b).sum(),
        "diff1": error.sum() / size.sum(),
        "diff2": np.sqrt((error**2).sum() / (b**2).sum()),
        "diff3_relative": (error / size)[is_large].max(initial=0),
        "diff3_absolute": error[~is_large].max(initial=0),
        "max_absolute": error.max(),
        "max_relative": (error[size > 0] / size[size > 0]).max(),
        "cosine": (e * b).sum() / np.sqrt((e**2).sum() * (b**2).sum()),
        "pcc": np.corrcoef(e.ravel(), b.ravel())[0, 1],
    }


@pytest.mark.parametrize("expected_dtype", FLOATS)
@pytest.mark.parametrize("found_dtype", FLOATS)
def test_figures_and_verdict_are_those_of_plain_numpy(rng, normal, found_dtype, expected_dtype):
    values = normal(7, 5, 33)
    expected = as_dtype(values, expected_dtype)
    noise = rng.choice([0, 0, 1e-6, 1e-3, 0.1], values.shape)
    found = as_dtype((values * (1 + noise)).astype(np.float32), found_dtype)
    result = compare(found, expected)
    e, b = wide(found), wide(expected)
    # The coarser type sets the tolerance.
    assert result.rtol == max(RTOL[found_dtype], RTOL[expected_dtype])
    assert compare(as_dtype(values, found_dtype), expected)
    threshold = 1e-4 if found_dtype == "float16" else 1e-6
    for name, value in definition(e, b, threshold).items():
        assert result.figures[name] == pytest.approx(value, rel=1e-9, abs=1e-300), name
    is_wrong = ~(np.abs(e - b) <= result.atol + result.rtol * np.abs(b))
    assert result.figures["wrong"] == is_wrong.sum() > 0 and not result.equal
    errors = np.where(is_wrong, np.abs(e - b), -1)
    order = np.argsort(-errors, axis=None, kind="stable")[:5]
    assert [np.ravel_multi_index(w.index, e.shape) for w in result.worst] == order.tolist()
    assert [w.found for w in result.worst] == e.ravel()[order].tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_default_tolerance_is_that_of_assert_close(normal, dtype):
    """If the root mean square is 1."""
    values = normal(1000) + 3
    expected = as_dtype(values / np.sqrt((values**2).mean()), dtype)
    for scale in (1e-8, 3e-8, 1e-6, 3e-6, 3e-4, 3e-3, 1e-2, 3e-2):
        found = (expected.double() * (1 + scale)).to(expected.dtype)
        try:
            torch.testing.assert_close(found, expected)
            close = True
        except AssertionError:
            close = False
        assert compare(found, expected).equal == close, scale


SCALES = [("float16", 1e-4), ("float16", 1e2)] + [
    (dtype, scale) for dtype in FLOATS[1:] for scale in (1e-12, 1e-6, 1, 1e4)
]


@pytest.mark.parametrize(("dtype", "scale"), SCALES)
def test_a_wrong_tensor_differs_and_rounding_does_not_at_any_scale(normal, dtype, scale):
    """Sums of products in other orders, and what a smaller absolute tolerance has hidden."""
    e, b = normal(96, 2000) * np.float32(scale), normal(2000, 96)
    wide_type = torch.float64 if dtype == "float64" else torch.float32
    e, b = (torch.from_numpy(each).to(wide_type) for each in (e, b))
    expected = (e @ b).to(getattr(torch, dtype))
    order = torch.randperm(2000, generator=torch.Generator().manual_seed(1))
    found = (e[:, order] @ b[order]).to(expected.dtype)
    result = compare(found, expected)
    assert result.equal and result.figures["differing"], result
    rms = wide(expected)[wide(expected) != 0]
    rms = np.sqrt((rms**2).mean())
    assert result.figures["rms"] == pytest.approx(rms)
    factor = 1e-7 if dtype == "float64" else 1e-5
    assert result.atol == pytest.approx(max(factor * rms, 2**-24 if dtype == "float16" else 0))
    line = str(result).splitlines()[0]
    assert f"atol {result.atol:.3g}" in line and f"{factor:g} of the root mean square" in line
    assert result.to_dict()["rms_atol"] == factor
    assert not compare(2 * expected, expected) and not compare(expected.T.clone(), expected)
    one = expected.clone()
    one[3, 5] += rms / 8
    result = compare(one, expected)
    assert result.figures["wrong"] == 1 and result.worst[0].index == (3, 5)
    # An absolute tolerance that is given is absolute.
    assert compare(one, expected, atol=float(rms)).equal
    assert not compare(one, expected, rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (2, 3, 4), (3, 3, 3)])
@pytest.mark.parametrize("scale", [1e-6, 1])
def test_a_transposition_is_named_whichever_tensor_is_stored_wrongly(normal, shape, scale):
    """A tensor in another order of dimensions, its shape kept, moved or lost."""
    right = normal(*shape) * np.float32(scale)
    order = tuple(range(1, len(shape))) + (0,)
    permuted = np.ascontiguousarray(right.transpose(order))
    listed = ", ".join(map(str, order))
    kept = permuted.reshape(shape)
    for pair, names in (((kept, right), "found expected"), ((right, kept), "expected found")):
        one, other = names.split()
        if shape == (4, 4):  # Its transposition is its own inverse.
            one, other = "found", "expected"
        text = f"transposed: {one} has the dims of {other} in the order {listed}"
        assert text in str(compare(*pair))
    if len(set(shape)) == 1:
        return
    # The shape of the permuted tensor without its elements in that order, and the reverse.
    for other in (permuted, right.reshape(permuted.shape), permuted.reshape(-1)):
        for pair in ((other, right), (right, other)):
            with pytest.raises(ValueError, match="both are equal"):
                compare(*pair)
    flat = right.reshape(permuted.shape).transpose().reshape(-1)
    with pytest.raises(ValueError, match="in memory and the shape of"):
        compare(flat, right.reshape(permuted.shape))
    with pytest.raises(ValueError, match="in memory and the shape of"):
        compare(right.reshape(permuted.shape), flat)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_exact(dtype):
    expected = np.arange(40).astype(dtype).reshape(5, 8)
    assert compare(expected.copy(), expected)
    found = expected.copy()
    found[3, 2] = not found[3, 2] if dtype == "bool" else found[3, 2] + 1
    result = compare(found, expected)
    assert not result and result.figures["wrong"] == 1 and result.worst[0].index == (3, 2)


def row(found, expected, text, **arguments):
    return found, expected, text, arguments


BOXES = np.float32([[310, 220, 650, 480, 0.051], [12, 33, 340, 290, 0.92]])
ZEROS, EMPTY = np.zeros(5, np.float32), np.zeros((2, 0), np.float32)
DOUBLES = np.random.default_rng(20).standard_normal(5)
FLOAT32 = DOUBLES.astype(np.float32)
# Two values, and what the report has to say; its verdict is the first word.
REPORTS = {
    "small columns of boxes": row(
        BOXES + np.float32([0, 0, 0, 0, 4e-3]),
        BOXES,
        r"differ: float32 \[2, 5\], 2 of 10 .*atol 1e-05 \(1e-05 of the .* 3.*, counted as 1\)",
    ),
    "zeros": row(ZEROS, ZEROS.copy(), "equal: .*all 5 elements have the same bits$"),
    "tiny, not 0": row(
        ZEROS + np.float32(1e-30),
        ZEROS,
        r"differ: .* 5 of 5 .*atol 0 \(expected has no finite nonzero element\)",
    ),
    "no elements": row(EMPTY, EMPTY, r"equal: float32 \[2, 0\] has no elements"),
    "no elements in a container": row([EMPTY], [EMPTY], "equal: all 1, without elements$"),
    "one element in a container": row([EMPTY, 1], [EMPTY, 1], "equal: all 2$"),
    "shapes without elements": row([EMPTY], [EMPTY.T], "differ: 1 cannot be compared"),
    "a tensor beside nothing": row({"x": 1.5, "y": {}}, {"x": 1.5, "y": {}}, "equal"),
    "uint64": row(np.uint64([2**64 - 1]), np.uint64([2**64 - 2]), "differ: .*1 of 1"),
    "integers of two types": row(
        np.int32([2**31 - 1]),
        np.int64([2**40]),
        r"differ: int32 \(expected int64\) \[1\], 1 of 1 elements differ",
    ),
    "rounded": row(FLOAT32, DOUBLES, "equal: .*equal, rounded to float32"),
    "not rounded": row(
        FLOAT32,
        DOUBLES,
        r"differ: float32 \(expected float64\) \[5\], 5 of 5 elements differ",
        rtol=0,
        atol=0,
    ),
    "bits of rounded numbers": row(FLOAT32, DOUBLES, "equal", criteria="bits"),
    "indices as sets": row(
        np.array([[[9, 4, 7], [1, 1, 2], [5, 6, 8]]]),
        np.array([[[4, 7, 9], [1, 2, 2], [5, 6, 7]]]),
        "differ(.*\n)+as sets along the last axis, 2 of 3 rows are equal\n",
    ),
    **{
        f"nothing in {empty}": row(empty, empty, ".*nothing was compared")
        for empty in ({}, [], {"a": {}}, [[], ()])
    },
}


@pytest.mark.parametrize("name", list(REPORTS))
def test_reports(name):
    found, expected, text, arguments = REPORTS[name]
    result = compare(found, expected, **arguments)
    assert re.match(text, str(result)), result
    assert result.equal == str(result).startswith("equal")
    assert result.comparable != ("cannot" in str(result) or "nothing" in str(result))


def test_large_integers_are_exact():
    expected = np.array([2**62, -(2**62)], np.int64)
    worst = compare(expected + 1, expected).worst[0]
    assert (worst.expected, worst.found) == (2**62, 2**62 + 1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "criterion", ["allclose", "bits", "diff1<=9", "cosine>=-1", "max_ulp<=9e18"]
)
def test_a_nan_or_an_infinity_in_one_tensor_fails_any_criterion(criterion, value):
    expected = np.linspace(1, 2, 24, dtype=np.float32)
    found = np.where(np.arange(24) == 8, np.float32(value), expected)
    assert not compare(found, expected, criteria=criterion)
    assert not compare(expected, found, criteria=criterion)
    assert compare(found, found.copy(), criteria=criterion)


@pytest.mark.parametrize(
    ("criteria", "passes"),
    [
        ({"diff1": 1e-3, "diff2": 1e-3}, True),
        ({"diff1": 1e-3, "diff2": 1e-4}, False),
        ("pcc>=0.99", True),
        (["pcc>=0.99", "cosine=0.9999"], True),
        (["cosine>=0.9999999"], False),
        ("diff3_1<=2e-3", True),
        ("diff3<=1e-4", False),
        ("max_relative<=1e-4", False),
        ("max_absolute<=0.002", True),
        ("diff4<=0.5", False),
        ("max_ulp<=10", False),
        ("bits", False),
        ("allclose", False),
    ],
)
def test_criteria(criteria, passes):
    expected = np.linspace(0.5, 1, 100, dtype=np.float32)
    found = expected * np.where(np.arange(100) % 2, 1.001, 1).astype(np.float32)
    result = compare(found, expected, criteria=criteria)
    assert result.equal == passes
    assert len(result.criteria) == (1 if isinstance(criteria, str) else len(criteria))
    assert all(each.passed == passes or len(result.criteria) > 1 for each in result.criteria)
    # Tolerances beside criteria decide too.
    assert not compare(found, expected, rtol=1e-4, criteria=criteria)
    loose = compare(found, expected, rtol=1e-2, criteria=criteria)
    assert loose.equal == (passes or criteria == "allclose")


def spoil(change) -> tuple[np.ndarray, np.ndarray]:
    """Returns found and expected, [16, 12, 20] with positive numbers that all differ."""
    expected = np.random.default_rng(5).permutation(3840).reshape(16, 12, 20).astype(np.float32) + 1
    found = expected.copy()
    changed = change(found)
    return found if changed is None else changed, expected


def at(*index, value=None):
    """Changes elements, by default by 10000."""

    def change(found):
        found[index] = found[index] + 10000 if value is None else value

    return change


IS_BORDER = np.pad(np.zeros((16, 10, 18), bool), ((0, 0), (1, 1), (1, 1)), constant_values=True)
# Without a pattern of their positions.
SOME = np.unravel_index(np.random.default_rng(6).permutation(3840)[:400], (16, 12, 20))
EVERY = slice(None)
# How the elements are spoiled, and what the report has to say.
PATTERNS = {
    "one element": (at(3, 4, 5), "one element"),
    "row": (at(3), r"one n: .*3 of 16"),
    "channel": (at(EVERY, EVERY, 7), r"one c: .*7 of 20"),
    "tile": (at(slice(4, 8), slice(3, 6), slice(8, 16)), r"tile: \[4:8, 3:6, 8:16\]"),
    "stride": (at(EVERY, EVERY, slice(1, None, 4)), "every 4th c from 1"),
    "factor": (lambda found: found * np.float32(1.5), r"1\.5"),
    "sign": (lambda found: -found, "sign|-1"),
    "rotation of rows": (lambda found: found[[*range(1, 16), 0]], "rotated"),
    "permutation of rows": (lambda found: found[[3, 0, 2, 1, *range(4, 16)]], "permut"),
    "reversed channels": (lambda found: found[:, :, ::-1].copy(), "reversed"),
    "border": (at(IS_BORDER), "border"),
    "NaN": (at(*SOME, value=np.nan), "NaN"),
    "flush": (at(*SOME, value=0), "each is 0"),
    "overflow": (at(*SOME, value=np.inf), "overflow"),
}


@pytest.mark.parametrize("name", list(PATTERNS))
def test_a_spoiled_tensor_is_named(name):
    change, text = PATTERNS[name]
    result = compare(*spoil(change), axes=("n", "h", "c"))
    assert not result
    assert re.search(text, result.pattern), result.pattern
    assert f"pattern: {result.pattern}" in str(result)


def test_a_rounding_of_half_is_named(rng, normal):
    expected = normal(40, 50).astype(np.float16)
    found = expected.copy()
    positions = rng.permutation(2000)[:300]
    found.reshape(-1)[positions] = np.nextafter(expected.reshape(-1)[positions], np.float16(np.inf))
    result = compare(found, expected, rtol=0, atol=0)
    assert result.figures["max_ulp"] == 1 and "ulp" in result.pattern.lower()


# The order in which found holds the dimensions of expected, its shape, and what would fit.
SHAPES = [
    ((4, 3, 2, 5), (0, 1, 3, 2), (4, 3, 5, 2), "with found.transpose(0, 1, 3, 2), both are equal"),
    ((4, 3, 2, 5), (0, 1, 2, 3), (4, 3, 10), "both have 120 elements; reshaped, both are equal"),
    ((4, 3, 2, 5), (0, 1, 2, 3), (1, 4, 3, 2, 5), "dimensions of extent 1, both are equal"),
    ((4, 3, 2, 5), (0, 1, 2, 3), (4, 3), ""),
    # Several orders fit: the one that makes both equal is named, else the first.
    ((4, 4, 3), (2, 1, 0), (3, 4, 4), "with found.transpose(2, 1, 0), both are equal"),
    ((4, 4, 3), None, (3, 4, 4), "with found.transpose(1, 2, 0), 48 of 48 elements differ"),
]


@pytest.mark.parametrize(("shape", "order", "found", "text"), SHAPES)
def test_other_shapes_are_refused_with_what_would_fit(normal, shape, order, found, text):
    expected = normal(*shape)
    values = normal(*found) if order is None else expected.transpose(order)
    text = f"shapes differ: found {list(found)}, expected {list(shape)}" + ".*" + re.escape(text)
    with pytest.raises(ValueError, match=text.replace("[", r"\[")):
        compare(values.reshape(-1)[: np.prod(found)].reshape(found), expected)


def test_complex_numbers_are_pairs(rng):
    for dtype, part in ((np.complex64, "float32"), (np.complex128, "float64")):
        expected = np.arange(6).reshape(2, 3).astype(dtype)
        found = expected.copy()
        found[1, 2] += 1j
        result = compare(found, expected)
        assert (result.dtypes, result.shape) == ((part, part), (2, 3, 2))
        assert (result.worst[0].index, result.worst[0].found) == ((1, 2, 1), 1)


def test_filter_layouts_are_proposed(normal):
    filters = normal(3, 3, 3, 4, 6)
    spconv = mluop_omp.convert_filters(filters, "mmcv", "spconv2")
    with pytest.raises(ValueError, match="as filters, equal after conversion from spconv2 to mmcv"):
        compare(spconv, filters)
    offsets = filters.reshape(27, 4, 6)
    assert "reversal of the offsets" in str(compare(offsets[::-1], offsets))


@pytest.mark.parametrize("dim", [1, 2])
def test_a_factor_and_an_offset_of_each_channel_are_found(normal, dim):
    expected = normal(4, 6, 7)
    shape = [1] * 3
    shape[dim] = expected.shape[dim]
    factors = np.linspace(1, 2, shape[dim], dtype=np.float32).reshape(shape)
    found = expected * factors + (factors - 1)
    (note,) = compare(found, expected).notes
    assert f"of {shape[dim]} channels (dim {dim}) of found are a * expected + b" in note
    assert "to 2, b" in note and note.startswith(f"{shape[dim] - 1} of ")
    found[3, 2, 1] += 0.01
    assert "of found are about a * expected + b" in compare(found, expected).notes[0]


def test_containers(normal):
    array = normal(3, 4)
    expected = {"a": array, "b": [array, (torch.from_numpy(array), 2)], "gone": 1, "text": "x"}
    found = {"a": array, "b": [array, (array + 1, 2)], "new": 1, "text": "y", "c": None}
    assert compare(expected, dict(reversed(expected.items())))
    result = compare(found, expected)
    assert (result.missing, result.extra) == (("gone",), ("c", "new"))
    assert [name for name, child in result.children.items() if not child] == ["b", "text"]
    assert not result.children["b"].children["1"].children["0"]
    lines = str(result).splitlines()
    assert lines[0] == "differ: 1 missing, 2 extra, 2 of 3 differ"
    assert lines[1:3] == ["missing: gone", "extra: c, new"]


def test_a_part_that_cannot_be_compared_is_named_and_the_others_compared(normal):
    array = normal(3, 4)
    result = compare({"a": array, "b": array}, {"a": array[:2], "b": array})
    assert not result and not result.comparable and result.children["b"]
    assert "a: cannot be compared: shapes differ: found [3, 4], expected [2, 4]" in str(result)


NUMBERS = (3, 2.5, True, 1 + 2j, [1, 2, 3], [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("value", [*NUMBERS, None, "text", np.zeros((0, 3))])
def test_values_of_many_kinds_equal_themselves(value):
    assert compare(value, value)


def test_tensors_of_many_kinds_equal_themselves(normal):
    tensor = torch.from_numpy(normal(6, 8))
    array = tensor.numpy()
    for same in (
        *(tensor.clone().requires_grad_(), tensor.t().contiguous().t(), torch.nn.Parameter(tensor)),
        *(np.asfortranarray(array), array.astype(">f4"), array[None][0]),
        np.asarray(memoryview(array)),
    ):
        result = compare(same, tensor)
        assert result.figures["differing"] == 0
    assert compare(tensor[:, ::2], array[:, ::2])
    assert compare(tensor[0, 0], array[0, 0]) and compare(np.ones((1,) * 12), np.ones((1,) * 12))


# Values that cannot be compared with [0, 0, 0], and why.
REFUSED = [
    (np.zeros(2, "M8[s]"), "dtype datetime64"),
    (np.array([object()]), "dtype object"),
    (np.ma.zeros(3), "MaskedArray"),
    (np.zeros(3, np.longdouble), "longdouble|float128"),
    (torch.zeros(3, device="meta"), "meta"),
    (torch.zeros(3).to(torch.float8_e5m2), "float8_e5m2"),
    (torch.zeros(3, 3).to_mkldnn(), "mkldnn"),
    ({"a": 1}, r"found is a container, expected is float64 \[3\]"),
    (None, "found is None"),
]


@pytest.mark.parametrize(("value", "text"), REFUSED)
def test_what_cannot_be_compared_is_refused(value, text):
    with pytest.raises((TypeError, ValueError), match=text) as error:
        compare(value, np.zeros(3))
    assert error.type is (ValueError if text.startswith("found") else TypeError)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"rtol": -1}, "rtol is -1, expected a finite number"),
        ({"atol": float("nan")}, "atol is nan"),
        ({"rtol": "x"}, "rtol is 'x'"),
        ({"worst": -1}, "worst is -1, expected an integer from 0 to 1000"),
        ({"worst": 1001}, "worst is 1001"),
        ({"worst": 2.5}, "worst is 2.5"),
        ({"criteria": "diff9<=1"}, "criterion is 'diff9', expected one of diff1"),
        ({"criteria": "pcc<=0.9"}, "pcc is compared by <=, expected >="),
        ({"criteria": "pcc"}, "the threshold of pcc is None"),
        ({"criteria": {"pcc": "x"}}, "the threshold of pcc is 'x'"),
        ({"criteria": "bits=3"}, "bits has the threshold 3, expected none"),
        ({"criteria": ["<=3"]}, "criterion is '<=3'"),
    ],
)
def test_bad_arguments_are_refused(arguments, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        compare(np.zeros(3), np.zeros(3), **arguments)


def test_a_container_that_holds_itself_is_refused():
    loop, cycle = {}, []
    loop["loop"] = loop
    cycle.append(cycle)
    assert "nested more than" in str(compare(loop, loop))
    assert "nested more than" in str(compare(cycle, cycle))


def test_the_report_and_its_dict(rng):
    expected = np.zeros((2, 3), np.float32)
    found = np.array([[0, 0, np.nan], [0, 0, 1e-3]], np.float32)
    result = compare(found, expected)
    lines = str(result).splitlines()
    assert lines[0] == (
        "differ: float32 [2, 3], 2 of 6 elements are outside rtol 1.3e-06, atol 0 "
        "(expected has no finite nonzero element)"
    )
    table = [line.split() for line in lines if line.startswith(("index", "("))]
    assert table[0] == ["index", "expected", "found", "absolute", "relative"]
    assert table[1] == ["(0,2)", "0.0", "nan", "inf", "inf"]
    assert table[2] == ["(1,2)", "0.0", "0.001", "0.001", "inf"]
    assert any("1 NaN in found" in line for line in lines)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["equal"] is False and plain["worst"][0]["found"] == "nan"
    assert plain["figures"]["wrong"] == 2 and plain["criteria"][0]["name"] == "allclose"
    assert str(compare(expected, expected.copy())) == (
        "equal: float32 [2, 3], all 6 elements have the same bits"
    )


def test_arguments_are_left_unchanged_and_may_be_read_only(normal):
    found, expected = normal(5, 6), normal(5, 6)
    copies = found.copy(), expected.copy()
    found.flags.writeable = expected.flags.writeable = False
    compare(found, expected)
    assert np.array_equal(found, copies[0]) and np.array_equal(expected, copies[1])
