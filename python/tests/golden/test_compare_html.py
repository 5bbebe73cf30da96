"""The report as a page: what it draws, of tensors of any size, sparse ones, folders and runs."""

from __future__ import annotations

import copy
import html.parser
import io
import os
import pickle
import re
import shutil
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from mluop_omp import SparseSites, compare
from mluop_omp.golden import _progress
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._values import Tensor, convert
from mluop_omp.golden.comparison.page import _elements, _plan

MEASURE = Measure(1.3e-6, 1e-5)
LINKS = ("href", "src", "xlink:href", "action", "data", "srcset")


class Page(html.parser.HTMLParser):
    """The parts of a page; fails if elements are not closed, or something refers to elsewhere."""

    def __init__(self, path) -> None:
        super().__init__()
        self.tags, self.captions, self.text, self.report, self.open = [], [], [], "", []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        assert not self.open and "script" not in self.tags
        assert not re.search(r"url\(|@import", self.source)
        assert len(self.source) < 3_000_000

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on")
            assert name not in LINKS or value.startswith("data:image/png;base64,"), value
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data.strip())
        if self.open[-1:] == ["figcaption"]:
            self.captions.append(data)
        # The title is the first line of the report.
        if self.open[-1:] == ["h1"]:
            self.report += data
        if self.open[-1:] == ["pre"]:
            self.report += "\n" * (self.tags[-1] == "pre") + data


def page_of(result, path) -> Page:
    result.html(path)
    page = Page(path)
    assert page.report == str(result)
    assert page.tags.count("svg") >= page.tags.count("figure") == len(page.captions)
    assert page.source.count('role="img" aria-label="') == page.tags.count("svg")
    return page


def test_a_channel_has_a_map(tmp_path, normal):
    expected = normal(2, 16, 24, 20)
    found = expected.copy()
    found[:, 5, 2:] *= 1.25
    page = page_of(compare(found, expected, axes=("n", "c", "h", "w")), tmp_path / "page.html")
    assert page.captions == [
        "Largest absolute error of wrong elements at c = 5 over all n",
        "Wrong elements along each dimension",
        "Elements by distance",
    ]
    assert {"h", "w", "no wrong element"} <= set(page.text)
    assert any(" absolute error" in text for text in page.text)
    assert page.source.count("data:image/png") == 1


@pytest.mark.parametrize(
    ("found", "expected", "criteria", "drawn"),
    [
        ([1, 1, 1], [1, 1, 1], None, None),
        ([0, 1, np.nan], [-0.0, 1, np.nan], "bits", "wrong"),
        ([1, 2, 4], [1, 2, 4.000002], "max_ulp<=1", "differing"),
    ],
    ids=["equal", "bits", "nothing wrong but a criterion"],
)
def test_captions(found, expected, criteria, drawn, tmp_path):
    result = compare(np.float32(found), np.float32(expected), criteria=criteria)
    page = page_of(result, tmp_path / "page.html")
    captions = [
        f"Largest absolute error of {drawn} elements",
        f"{drawn} elements by dim 0".capitalize(),
        "Elements by distance",
    ]
    assert page.captions == (captions if drawn else [])
    assert f'class="{"differ" if drawn else "equal"}"' in page.source


def definition(found, expected) -> np.ndarray:
    error = np.abs(found.astype(np.float64) - expected)
    return np.where(error <= MEASURE.atol + MEASURE.rtol * np.abs(expected), 0, error)


@pytest.mark.parametrize("shape", [(5, 3), (70_000, 8), (3, 300_000), (4, 2, 5), (0, 3)])
def test_rows_have_the_errors_of_the_definition(shape, rng, normal):
    expected, found = normal(*shape), normal(*shape)
    found = np.where(rng.random(shape) < 0.3, found, expected)
    largest, wrong = MEASURE.row_errors(convert(found), convert(expected))
    error = definition(found, expected).reshape(shape[0], np.prod(shape[1:]))
    np.testing.assert_array_equal(largest, error.max(axis=1, initial=0))
    np.testing.assert_array_equal(wrong, np.count_nonzero(error, axis=0))


# The shape, the axes, and the dimensions of the map.
MAPS = [
    ((7,), None, ["dim 0"]),
    ((5, 3), None, ["dim 0", "dim 1"]),
    ((2, 5, 3), None, ["dim 1", "dim 2"]),
    ((2, 5, 3, 4), "nchw", "hw"),
    ((2, 5, 3, 4), "nhwc", "hw"),
    ((2, 3, 4, 5, 6), "ndhwc", "hw"),
    ((3, 4, 5), "abc", "bc"),
    ((600, 500), None, ["dim 0", "dim 1"]),
    ((300_000,), None, ["dim 0"]),
    ((2, 3, 1, 70_000), None, ["dim 2", "dim 3"]),
]


@pytest.mark.parametrize("shape, axes, drawn", MAPS)
def test_maps_and_counts_are_those_of_the_definition(shape, axes, drawn, rng, normal):
    expected, found = normal(*shape), normal(*shape)
    found = np.where(rng.random(shape) < 0.3, found, expected)
    found.reshape(-1)[rng.integers(0, found.size, 2)] = np.nan, np.inf
    error = definition(found, expected)
    error[~np.isfinite(found)] = np.inf
    pair = convert(found), convert(expected)
    # Indices of another dimension have maps only if few of them are wrong.
    (each,), counts = _elements.examine(*pair, MEASURE, axes, "wrong")
    names = axes or [f"dim {dim}" for dim in range(len(shape))]
    assert [name for name in each.axes if name] == list(drawn)
    plane = error.max(axis=tuple(d for d, name in enumerate(names) if name not in drawn))
    plane = np.atleast_2d(plane)
    for axis, step in enumerate(each.steps):
        plane = np.maximum.reduceat(plane, np.arange(0, plane.shape[axis], step), axis=axis)
    np.testing.assert_array_equal(each.errors, plane)
    assert max(plane.shape) <= _elements.MAX_CELLS
    dims = [dim for dim in range(len(shape)) if shape[dim] > 1]
    assert [each.name for each in counts] == [names[dim] for dim in dims]
    for each, dim in zip(counts, dims):
        wrong = (error > 0).sum(axis=tuple(d for d in range(len(shape)) if d != dim))
        edges = np.arange(0, shape[dim], each.step)
        np.testing.assert_array_equal(each.wrong, np.add.reduceat(wrong, edges))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "uint8", "bool", "float64"])
def test_a_single_element_stays_visible(dtype, tmp_path):
    bits = {"bfloat16": "uint16"}.get(dtype, dtype)
    found, expected = np.zeros((3, 500, 550), bits), np.zeros((3, 500, 550), bits)
    found[1, 497, 1] = 1 if dtype != "bfloat16" else 0x3F80
    pair = Tensor(found, dtype), Tensor(expected, dtype)
    (each,), _ = _elements.examine(*pair, MEASURE, None, "wrong")
    assert " at dim 0 = 1" in each.caption
    assert np.argwhere(each.errors).tolist() == [[497 // each.steps[0], 0]]
    assert each.errors.max() == 1
    page_of(compare(*pair), tmp_path / "page.html")


def test_memory_is_bounded(tmp_path):
    arrays = []
    for name in ("found", "expected"):
        with open(tmp_path / name, "wb") as file:
            file.truncate(4 << 24)
        arrays.append(np.memmap(tmp_path / name, np.float32, "r+", shape=(4, 4, 1024, 1024)))
    arrays[0][3, 2, 1000, 7] = 1
    tracemalloc.start()
    maps, _ = _elements.examine(*map(convert, arrays), MEASURE, None, "wrong")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20 and np.count_nonzero(maps[0].errors) == 1


@pytest.fixture
def sparse_pair(rng, normal):
    """30 rows of 200 are wrong, 5 are missing, 3 extra."""
    linear = rng.permutation(2 * 5 * 40 * 60)[:203]
    sites = np.stack(np.unravel_index(linear, (2, 5, 40, 60)), axis=1)
    features = normal(203, 4)
    wrong = features.copy()
    wrong[:30, 2] += 1
    order = rng.permutation(np.r_[0:195, 200:203])
    found = SparseSites(wrong[order], sites[order])
    return found, SparseSites(features[:200], sites[:200]), sites


def test_sites_from_above(tmp_path, sparse_pair):
    found, expected, sites = sparse_pair
    maps, counts, omitted = _plan.examine(convert(found), convert(expected), MEASURE)
    parts = {"wrong": sites[:30], "right": sites[30:195]}
    parts.update(missing=sites[195:200], extra=sites[200:])
    assert omitted == 0
    for batch, each in enumerate(maps):
        assert each.axes == ("column 2", "column 3")
        np.testing.assert_array_equal(each.masks["wrong"], each.errors > 0)
        for kind, mask in each.masks.items():
            chosen = parts[kind][parts[kind][:, 0] == batch]
            cells = np.unique(chosen[:, 2:] - each.starts, axis=0)
            np.testing.assert_array_equal(np.argwhere(mask), cells)
            assert each.sites[kind] == len(chosen)
    counted = {each.name: each.wrong for each in counts}
    assert counted["channel"].tolist() == [0, 0, 30, 0]
    differing = sites[np.r_[0:30, 195:203]]
    assert counted["column 1"].tolist() == np.bincount(differing[:, 1], minlength=5).tolist()
    page = page_of(compare(found, expected), tmp_path / "page.html")
    assert [each for each in page.captions if "above" in each] == [
        "Sites of batch 0 from above: columns 2 and 3 of the indices",
        "Sites of batch 1 from above: columns 2 and 3 of the indices",
    ]
    marks = [t for t in page.text if t.startswith(("right: ", "wrong: ", "only in "))]
    assert sum(int(mark.rpartition(" ")[2]) for mark in marks) == 203


def test_a_sparse_and_a_dense_tensor(tmp_path, sparse_pair):
    _, expected, sites = sparse_pair
    dense = np.zeros((2, 4, 5, 40, 60), np.float32)
    b, z, y, x = sites[:200].T
    dense[b, :, z, y, x] = expected.features
    b, z, y, x = sites[200]
    dense[b, 3, z, y, x] = 1
    for pair, side in (((dense, expected), "extra"), ((expected, dense), "missing")):
        (each,), _, _ = _plan.examine(*map(convert, pair), MEASURE)
        assert each.caption.startswith(f"Sites of batch {b} from above: columns ")
        assert each.sites[side] == 1 and each.sites["wrong"] == 0
        page_of(compare(*pair), tmp_path / "page.html")


@pytest.mark.parametrize(
    "sites",
    [
        [[0, 3], [0, 2**62], [1, -(2**62)]],
        [[0, 1, 2]],
        [[7, 1, 2, 3, 4], [7, 2, 2, 3, 4]],
        [[0, -(2**63), 1, 2], [0, 2**63 - 1, 1, 2]],
    ],
)
def test_any_sites(sites, tmp_path):
    sites = np.array(sites)
    found = SparseSites(np.ones((len(sites), 1)), sites)
    expected = SparseSites(np.zeros((len(sites) + 1, 1)), np.r_[sites, sites[:1]])
    page = page_of(compare(found, expected), tmp_path / "page.html")
    assert any("above" in caption for caption in page.captions)


def test_names_are_escaped(tmp_path):
    name = "<b onload=x>&amp;$a_1$\x1b[2J\udcff"
    found, expected = {name: np.ones((2, 2))}, {name: np.zeros((2, 2))}
    result = compare(found, expected, axes=("<i>$x$", "</svg>"))
    result.html(tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert "b" not in page.tags and "i" not in page.tags
    assert "<b onload=x>&amp;$a_1$?[2J?" in page.text and "<i>$x$" in page.text


def test_many_tensors(tmp_path):
    names = [f"layer {k:04}" for k in range(2500)]
    result = compare(dict.fromkeys(names, np.ones(4)), dict.fromkeys(names, np.zeros(4)))
    result.html(tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert page.tags.count("section") == 1 + 8 and "layer 0007" in page.text
    assert page.tags.count("tr") == 1 + 2000 and page.tags.count("td") == 2000 * 9
    assert any("500 more tensors are not listed" in text for text in page.text)
    assert any("2492 more tensors" in text for text in page.text)
    assert page.report.splitlines()[-1].startswith("2475 more differ; --all")


def test_tensors_that_differ_come_first_in_the_table(tmp_path):
    parts = {"b": np.ones(2), "a": np.zeros(2), "c": np.ones(3)}
    result = compare({**parts, "d": np.ones(1)}, {**parts, "b": np.zeros(2), "d": np.ones(2)})
    page = page_of(result, tmp_path / "page.html")
    table = [text for text in page.text if text in [*"abcd", "equal", "differs", "not compared"]]
    assert table == ["b", "differs", "d", "not compared", "a", "equal", "c", "equal"] + ["b"]
    assert "4 tensors, 2 not equal" in page.text


def test_the_title_is_printed_once(tmp_path, normal):
    found, expected = normal(4, 5), normal(4, 5)
    page = page_of(compare(found, expected), tmp_path / "page.html")
    verdict = str(compare(found, expected)).splitlines()[0]
    # Also in the head of the page.
    assert page.source.count(verdict) == 2 and "table" not in page.tags


def test_after_the_comparison(tmp_path):
    """Copies and pickles draw no tensors, and the page says so."""
    found = {"a": np.ones(3)}
    result = compare(found, {"a": np.zeros(3)})
    for other in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        page = page_of(other, tmp_path / "page.html")
        assert page.captions == ["Elements by distance"]
        assert any("not at hand" in text for text in page.text)
    assert "_operands" not in str(result.to_dict())


def test_command(tmp_path, command):
    np.save(tmp_path / "a.npy", np.ones((4, 4)))
    np.save(tmp_path / "b.npy", np.eye(4))
    arguments = tmp_path / "a.npy", tmp_path / "b.npy", "--html"
    assert command(*arguments, tmp_path / "page.html")[0] == 1
    assert len(Page(tmp_path / "page.html").captions) == 3
    assert "none" in command(*arguments, tmp_path / "none" / "page.html")[2]


def test_runs(tmp_path):
    torch = pytest.importorskip("torch", reason="requires PyTorch")
    import mluop_omp

    model = torch.nn.Sequential(torch.nn.Conv2d(2, 6, 3), torch.nn.ReLU(), torch.nn.Conv2d(6, 2, 1))
    image, paths = torch.ones(1, 2, 9, 9), [tmp_path / "found.npz", tmp_path / "expected.npz"]
    mluop_omp.record(model, image, paths[1])
    hook = model[0].register_forward_hook(lambda module, args, output: output + torch.eye(7))
    mluop_omp.record(model, image, paths[0])
    hook.remove()
    result = mluop_omp.compare_runs(*paths)
    page = page_of(result, tmp_path / "page.html")
    assert "output of 0 (Conv2d)" in page.text and len(page.captions) == 3
    # The table and the output.
    assert page.tags.count("section") == 2 and "input 0 of 1 (ReLU)" in page.text
    paths[0].unlink()
    page = page_of(result, tmp_path / "page.html")
    assert any("cannot be read again" in text for text in page.text)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress(monkeypatch, is_terminal):
    items, terminal = list(range(5)), io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(_progress, "_DELAY_SECONDS", 0)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert _progress.track(items, "work") is items
    with _progress.shown():
        tracked = _progress.track(items, "work")
        outer = [(each, _progress.track(items, "inner") is items) for each in tracked]
    assert outer == [(each, True) for each in items]
    assert ("work" in terminal.getvalue()) is is_terminal
    assert _progress.track(items, "work") is items


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.mark.skipif(chromium() is None, reason="requires Chromium")
def test_screenshot(tmp_path, normal):
    """The page as a browser draws it: in both color schemes, figures within the page."""
    imread = pytest.importorskip("matplotlib.image", reason="requires matplotlib").imread
    expected = normal(1, 4, 32, 32)
    found = expected.copy()
    found[0, 2, 8:16, 8:16] += 1
    compare(found, expected, axes="nchw").html(tmp_path / "page.html")
    pictures = []
    for scheme in (1, 0):
        picture = tmp_path / f"{scheme}.png"
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += ["--window-size=1200,1400", f"--blink-settings=preferredColorScheme={scheme}"]
        options += [f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}"]
        address = (tmp_path / "page.html").as_uri()
        subprocess.run([chromium(), *options, address], capture_output=True, timeout=60, check=True)
        pictures.append(imread(picture)[:, :, :3])
    light, dark = pictures
    assert np.allclose(light[0, 0], 1) and dark[0, 0].max() < 0.2
    for picture in pictures:
        # The colors of errors, and enough that differs from the page.
        is_error = (picture[:, :, 0] > 0.6) & (picture[:, :, 1] < 0.35) & (picture[:, :, 2] < 0.5)
        assert np.count_nonzero(is_error) > 2000
        differs = np.abs(picture - picture[0, 0]).max(axis=2) > 0.1
        assert differs.mean() > 0.03 and not differs[:, -8:].any()
