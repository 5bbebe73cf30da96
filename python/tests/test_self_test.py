"""`python -m mluop_omp` without a command."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import mluop_omp
from mluop_omp import __main__, _requirements, _self_test


@pytest.mark.parametrize("operator", _self_test.OPERATORS)
def test_the_elements_of_results_differ(operator):
    """Arguments whose output is constant would not notice an operator that does nothing."""
    definition = getattr(_self_test.definitions, operator)
    for variant in _self_test.variants(operator):
        outputs = _self_test.outputs_of(definition, *_self_test.arguments(operator, **variant))
        for output in outputs[:1] if variant else outputs:
            assert output.size == 0 or (output != output.flat[0]).any()
        assert any(output.size for output in outputs)


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
        for first, second in zip(_self_test.arguments(operator), _self_test.arguments(operator)):
            np.testing.assert_array_equal(first, second)
