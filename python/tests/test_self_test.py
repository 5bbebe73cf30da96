"""`python -m mluop_omp` without a command."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import mluop_omp
from mluop_omp import __main__, _requirements, _self_test
from mluop_omp._self_test import _cases


def test_every_operator_has_a_case():
    assert sorted(_self_test.OPERATORS) == sorted(
        name for name in vars(_self_test.definitions) if name in mluop_omp.__all__
    )
    operators = pytest.importorskip("cases", reason="requires PyTorch").NAMES
    assert sorted(_self_test.OPERATORS) == operators


@pytest.mark.parametrize("operator", _self_test.OPERATORS)
def test_cases_have_results_that_differ(operator):
    """A case whose output is constant would not notice an operator that does nothing."""
    for output in _self_test._outputs(_self_test.definitions, operator):
        assert output.size and (output != output.flat[0]).any()


def test_the_report():
    run = subprocess.run(
        [sys.executable, "-m", "mluop_omp"], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr
    lines = dict(line.split(maxsplit=1) for line in run.stdout.splitlines())
    assert lines["mluop_omp"].startswith(mluop_omp.__version__)
    for name, text in (
        ("library", mluop_omp.info()["library"]),
        ("instruction", mluop_omp.info()["instruction_set"]),
        ("OpenMP", "libgomp"),
        ("NumPy", np.__version__),
        ("self-test", f"{len(_self_test.OPERATORS)} operators, 0 failures"),
    ):
        assert text in lines[name]
    for module, library in _requirements.LIBRARIES.items():
        assert ("not installed" in lines[library.name]) == bool(_requirements.missing(module))


def wrong(result):
    return (result[0] + 1, *result[1:]) if isinstance(result, tuple) else result + 1


@pytest.mark.parametrize("operator", _self_test.OPERATORS)
def test_a_wrong_result_is_found(operator, monkeypatch):
    right = getattr(mluop_omp, operator)
    monkeypatch.setattr(mluop_omp, operator, lambda *arguments: wrong(right(*arguments)))
    native, device = _self_test.failures_of(operator)
    assert native.startswith(f"{operator}, native: ") and " are wrong; " in native
    assert device.startswith(f"{operator}, device: ")


def test_failures_are_reported(monkeypatch, capsys):
    def refuse(*_):
        raise mluop_omp.MluOpError(mluop_omp.Status.ALLOC_FAILED, "out of memory")

    monkeypatch.setattr(mluop_omp, "knn", refuse)
    monkeypatch.setattr(mluop_omp, "nms", lambda *_: np.zeros(0, np.int32))
    before = mluop_omp.algorithm()
    assert __main__.main([]) == 1
    found = capsys.readouterr().out
    assert f"{len(_self_test.OPERATORS)} operators, 4 failures" in found
    assert "\n  knn, device: out of memory (ALLOC_FAILED)\n" in found
    assert "\n  nms, native: output 0 has shape (0,), expected (" in found
    assert mluop_omp.algorithm() == before


def test_arguments_are_the_same_in_every_run():
    for operator in _self_test.OPERATORS:
        for first, second in zip(_cases.arguments(operator), _cases.arguments(operator)):
            np.testing.assert_array_equal(first, second)
