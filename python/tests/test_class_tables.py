"""The tables of docs/minkowski.md and docs/torchsparse.md have each name that is provided."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="requires PyTorch")

from mluop_omp.minkowski import _modules as minkowski  # noqa: E402
from mluop_omp.torchsparse import _modules as torchsparse  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROW = re.compile(r"^\| (`.*?) \|(.*)\|$", re.MULTILINE)
# What is in the modules because MinkowskiEngine's files import it from each other.
HELPERS = {"StrideType", "convert_to_int_list", "convert_to_int_tensor", "get_postfix"}
HELPERS |= {"COORDINATE_KEY_DIFFERENT_ERROR", "COORDINATE_MANAGER_DIFFERENT_ERROR", "Tensor"}
# torchsparse.backends, and less used names of the caches.
SETTINGS = {"benchmark", "allow_tf32", "allow_fp16", "hash_rsv_ratio", "device_capability", "init"}


def rows(page: str, section: str) -> dict[str, list[str]]:
    """Returns the other cells of each name of the table in a section."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"\n## {section}\n")[2]
    table = text.partition("\n## ")[0]
    found: dict[str, list[str]] = {}
    for names, others in ROW.findall(table):
        for name in re.findall(r"`(\w+)`", names):
            assert name not in found, f"{page}: {name} has two rows"
            found[name] = [cell.strip() for cell in others.split("|")]
    return found


def of_minkowski() -> set[str]:
    tables = minkowski._FILES, minkowski._UTILS, minkowski._BLOCKS
    names = {name for table in tables for each in table.values() for name in each.split()}
    names |= {*minkowski._BACKEND, "MinkowskiFunctional"}
    return {name for name in names - {*minkowski._UNSUPPORTED} - HELPERS if name[0] != "_"}


def of_torchsparse() -> set[str]:
    return {
        name
        for version in torchsparse.VERSIONS
        for names in torchsparse.namespaces(version).values()
        for name, value in names.items()
        if name[0] != "_"
        and name not in SETTINGS
        and "refuse" not in getattr(value, "__name__", "")
    }


PAGES = [
    ("minkowski.md", "Names", of_minkowski),
    ("zh/minkowski.md", "名称", of_minkowski),
    ("torchsparse.md", "Names", of_torchsparse),
    ("zh/torchsparse.md", "名称", of_torchsparse),
]


@pytest.mark.parametrize(("page", "section", "provided"), PAGES, ids=[page[0] for page in PAGES])
def test_each_name_has_a_row(page, section, provided):
    assert rows(page, section).keys() == provided()


@pytest.mark.parametrize(("page", "section", "_"), PAGES, ids=[page[0] for page in PAGES])
def test_each_row_is_complete(page, section, _):
    total = 19 if "minkowski" in page else 8
    for name, (used, forward, _gradient, _judge) in rows(page, section).items():
        assert 0 <= int(used) <= total and forward, name
