"""The binding itself: declarations, errors, settings, threads, processes."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mluop_omp
from mluop_omp import _arrays, _library
from mluop_omp.golden.comparison import _engine

ROOT = Path(__file__).resolve().parents[2]
HANDLES = r"\b(mluOpHandle_t|mluOp\w*Descriptor_t|mluOpOmpComparison_t)\b"
SCALARS = {"int64_t": "l", "size_t": "s", "float": "f", "bool": "b"}


def header() -> str:
    text = "".join((ROOT / "include" / name).read_text() for name in ("mlu_op.h", "mlu_op_omp.h"))
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def parameter_code(declaration: str) -> str:
    if re.search(r"[*\[]", declaration) or re.search(HANDLES, declaration):
        return "p"
    return next(
        (code for name, code in SCALARS.items() if re.search(rf"\b{name}\b", declaration)), "i"
    )


def test_declarations_are_those_of_the_headers():
    functions = re.findall(
        r"mluOpStatus_t\s+MLUOP_WIN_API\s+(\w+)\((.*?)\);", header(), flags=re.DOTALL
    )
    declared = {name: "".join(map(parameter_code, text.split(","))) for name, text in functions}
    for name, parameters in _library.DECLARATIONS.items():
        assert declared[name] == parameters, name


@pytest.mark.parametrize(
    ("name", "structure"),
    [
        ("mluOpOmpCompareOptions_t", _engine._Options),
        ("mluOpOmpDifference_t", _engine._Difference),
        ("mluOpOmpWrongElement_t", _engine._WrongElement),
    ],
)
def test_structures_are_those_of_the_header(name, structure):
    types = {"double": ctypes.c_double, "int": ctypes.c_int, "int64_t": ctypes.c_int64}
    (body,) = re.findall(rf"typedef struct \{{([^{{}}]*)\}} {name};", header())
    fields = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        declared, names = (
            declaration.rsplit("* ", 1) if "*" in declaration else declaration.split(" ", 1)
        )
        fields += [(each.strip(), types.get(declared)) for each in names.split(",")]
    for (field, declared), (own, own_type) in zip(fields, structure._fields_):
        assert field.partition("[")[0] == own
        assert declared in (None, own_type, getattr(own_type, "_type_", None)), field
    assert len(fields) == len(structure._fields_)
    assert f"MLUOP_OMP_ULP_BUCKETS {_engine._ULP_BUCKETS}\n" in header()


@pytest.mark.parametrize(
    ("prefix", "values"),
    [
        ("MLUOP_STATUS_", {status.name: status.value for status in mluop_omp.Status}),
        ("MLUOP_LAYOUT_", _arrays.LAYOUTS),
        ("MLUOP_DTYPE_", {"HALF": 1, "FLOAT": 2, "INT32": 6, "INT64": 9, "DOUBLE": 14}),
    ],
)
def test_enumerators_are_those_of_the_headers(prefix, values):
    enumerators = dict(re.findall(rf"{prefix}(\w+) = (\d+)", header()))
    for name, value in values.items():
        assert int(enumerators[name]) == value


def test_element_types_have_the_sizes_of_the_library():
    size = ctypes.c_size_t()
    for name, code in _arrays.DTYPES.items():
        _library.require(_library.functions.mluOpGetSizeOfDataType(code, ctypes.byref(size)))
        assert size.value == (2 if name == "bfloat16" else np.dtype(name).itemsize), name


def three_nn_arguments(rng):
    return rng.random((1, 8, 3), np.float32), rng.random((1, 8, 3), np.float32)


def test_an_error_has_status_and_message(rng):
    unknown, known = three_nn_arguments(rng)
    with pytest.raises(mluop_omp.MluOpError) as error:
        mluop_omp.three_nn(unknown, known.astype(np.float64))
    assert error.value.status is mluop_omp.Status.BAD_PARAM
    assert "known" in error.value.message and "DOUBLE" in error.value.message
    assert str(error.value).endswith("(BAD_PARAM)")


@pytest.mark.parametrize(
    ("change", "exception", "text"),
    [
        (lambda a: a.tolist(), TypeError, "list"),
        (lambda a: a[0], mluop_omp.MluOpError, "2 dimensions"),
        (lambda a: a[:, ::2], mluop_omp.MluOpError, "contiguous"),
        (lambda a: a.astype(np.complex128), mluop_omp.MluOpError, "complex128"),
        (lambda a: a.astype(">f4"), mluop_omp.MluOpError, "dtype >f4"),
        (lambda a: np.concatenate([a, a]), mluop_omp.MluOpError, "expected"),
        (lambda a: a[:, :, :2].copy(), mluop_omp.MluOpError, "expected 3"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(rng, change, exception, text):
    unknown, known = three_nn_arguments(rng)
    with pytest.raises(exception, match=re.escape(text)):
        mluop_omp.three_nn(unknown, change(known))


def test_integers_beyond_int_are_refused():
    points = np.zeros((1, 1, 3), np.int32), np.zeros((1, 1, 1), np.float32)
    with pytest.raises(mluop_omp.MluOpError, match="voxel_num"):
        mluop_omp.voxel_pooling(*points, (1 + 2**32, 1, 1))
    with pytest.raises(TypeError, match="voxel_num"):
        mluop_omp.voxel_pooling(*points, (1.5, 1, 1))


def test_read_only_inputs_are_accepted(rng):
    unknown, known = three_nn_arguments(rng)
    unknown.flags.writeable = known.flags.writeable = False
    mluop_omp.three_nn(unknown, known)


def test_every_function_documents_arguments_errors_and_source():
    for name in mluop_omp.__all__:
        function = getattr(mluop_omp, name)
        if getattr(function, "__module__", "").startswith("mluop_omp.") and name[0].islower():
            assert function.__doc__, name
            if function.__module__ not in ("mluop_omp._settings", "mluop_omp._install"):
                assert all(
                    word in function.__doc__ for word in ("Args:", "Returns:", "Raises:", "Source:")
                ), name


def test_info():
    info = mluop_omp.info()
    assert info["version"] == mluop_omp.__version__
    assert Path(info["library"]).exists()


def test_algorithm_and_threads_are_checked():
    with pytest.raises(ValueError, match="native, device"):
        mluop_omp.algorithm("fast")
    with pytest.raises(ValueError, match="at least 1"):
        mluop_omp.threads(0)


def test_threads_of_the_program_have_handles_of_their_own(rng):
    arguments = [three_nn_arguments(rng) for _ in range(4)]
    expected = [mluop_omp.three_nn(*each) for each in arguments]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(mluop_omp.three_nn, *zip(*arguments * 200)))
    for found, right in zip(results, expected * 200):
        assert all(map(np.array_equal, found, right))


def test_the_gil_is_released_during_a_call(rng):
    """Another thread counts; with the GIL held it could not take a step during any of the calls."""
    unknown, known = rng.random((4, 40000, 3), np.float32), rng.random((4, 20000, 3), np.float32)
    stop, steps = threading.Event(), []

    def count() -> None:
        while not stop.is_set():
            steps.append(None)
            time.sleep(0)

    def steps_during_a_call() -> int:
        before = len(steps)
        mluop_omp.three_nn(unknown, known)
        return len(steps) - before

    counter = threading.Thread(target=count)
    counter.start()
    # A thread that waits for the GIL asks for it after this time, that is, never between calls. On
    # a busy machine the thread may not run during a call.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        assert any(steps_during_a_call() for _ in range(100))
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        counter.join()


RUNTIMES = "import mluop_omp; print(len(mluop_omp.info()['openmp']))"
WITHOUT_LIBGOMP = """
import ctypes, importlib.util
importlib.util.find_spec = lambda name: None
def fail(*_, **__):
    raise OSError("libgomp.so.1: cannot open shared object file")
ctypes.CDLL = fail
try: import mluop_omp
except ImportError as error: print(error)
"""
REFUSED = """
import numpy, mluop_omp
try: mluop_omp.three_nn(numpy.zeros((1, 1, 3), 'f'), numpy.zeros((2, 1, 3), 'f'))
except mluop_omp.MluOpError: pass
"""


@pytest.mark.parametrize(
    ("code", "environment", "printed"),
    [
        ("import mluop_omp; print(mluop_omp.threads())", {"OMP_NUM_THREADS": "3"}, "3"),
        # One OpenMP runtime, whichever library is imported first; spconv's wheel brings another.
        (f"import mluop_omp, torch; {RUNTIMES}", {}, "1"),
        (f"import torch; {RUNTIMES}", {}, "1"),
        (f"import ctypes; ctypes.CDLL('libgomp.so.1'); {RUNTIMES}", {}, "1"),
        # PyTorch loads its own by the name of its file, which not every version calls libgomp.so.1.
        (f"# requires torch\n{RUNTIMES.replace('len', '')}", {}, ".*/torch/lib/libgomp.*"),
        (WITHOUT_LIBGOMP, {}, "mluop_omp requires libgomp.so.1.*"),
        ("import os; e = dict(os.environ); import mluop_omp; assert os.environ == e", {}, ""),
        (REFUSED, {"MLUOP_LOG_LEVEL": None}, ""),
        (REFUSED, {"MLUOP_LOG_LEVEL": "error"}, ".*ThreeNN.*"),
    ],
)
def test_programs(code, environment, printed):
    """Settings of the environment, OpenMP runtimes, and what is printed, to stderr too."""
    if "torch" in code:
        pytest.importorskip("torch")
    environment = {k: v for k, v in {**os.environ, **environment}.items() if v is not None}
    program = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert program.returncode == 0 and re.fullmatch(printed, program.stdout.strip()), program.stdout


def test_a_forked_child_computes(rng):
    unknown, known = rng.random((2, 5000, 3), np.float32), rng.random((2, 5000, 3), np.float32)
    expected = mluop_omp.three_nn(unknown, known)
    child = os.fork()
    if child == 0:
        same = all(map(np.array_equal, expected, mluop_omp.three_nn(unknown, known)))
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
