"""The binding itself: declarations, errors, settings, threads, processes."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import threading
import time
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


def test_release_memory(rng):
    arguments = three_nn_arguments(rng)
    before = mluop_omp.three_nn(*arguments)
    mluop_omp.release_memory()
    assert all(map(np.array_equal, before, mluop_omp.three_nn(*arguments)))


def test_threads_of_the_program_have_handles_of_their_own(rng):
    arguments = [three_nn_arguments(rng) for _ in range(4)]
    expected = [mluop_omp.three_nn(*each) for each in arguments]
    failures = []

    def run(index: int) -> None:
        for _ in range(200):
            if not all(map(np.array_equal, expected[index], mluop_omp.three_nn(*arguments[index]))):
                failures.append(index)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


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


def python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_omp_num_threads_holds():
    assert python("import mluop_omp; print(mluop_omp.threads())", OMP_NUM_THREADS="3") == "3\n"


def test_one_openmp_runtime_whichever_library_is_imported_first():
    """spconv's wheel brings another."""
    pytest.importorskip("torch")
    for imports in ("mluop_omp, torch", "torch, mluop_omp"):
        count = python(f"import {imports}; print(len(mluop_omp.info()['openmp']))")
        assert count == "1\n", imports


def test_the_openmp_runtime_is_that_of_pytorch():
    """PyTorch loads its own by the name of its file, which not every version calls libgomp.so.1."""
    pytest.importorskip("torch")
    assert "/torch/lib/libgomp" in python("import mluop_omp; print(mluop_omp.info()['openmp'])")


def test_the_openmp_runtime_is_that_of_the_process():
    code = "import ctypes; ctypes.CDLL('libgomp.so.1'); import mluop_omp"
    assert python(f"{code}; print(len(mluop_omp.info()['openmp']))") == "1\n"


WITHOUT_LIBGOMP = """
import ctypes, importlib.util
importlib.util.find_spec = lambda name: None
def fail(*_, **__):
    raise OSError("libgomp.so.1: cannot open shared object file")
ctypes.CDLL = fail
try: import mluop_omp
except ImportError as error: print(error)
"""


def test_without_an_openmp_runtime_the_error_names_it():
    assert "mluop_omp requires libgomp.so.1" in python(WITHOUT_LIBGOMP)


def test_the_log_is_off_unless_it_is_set():
    code = """
import numpy, mluop_omp
try: mluop_omp.three_nn(numpy.zeros((1, 1, 3), 'f'), numpy.zeros((2, 1, 3), 'f'))
except mluop_omp.MluOpError: pass
"""

    def log(level: str | None) -> str:
        environment = {k: v for k, v in os.environ.items() if k != "MLUOP_LOG_LEVEL"}
        environment.update({"MLUOP_LOG_LEVEL": level} if level else {})
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        ).stderr

    assert log(None) == ""
    assert "ThreeNN" in log("error")


def test_children_inherit_the_environment_as_it_was():
    code = "import os; before = dict(os.environ); import mluop_omp; assert os.environ == before"
    assert python(code) == ""


def test_a_forked_child_computes(rng):
    unknown, known = rng.random((2, 5000, 3), np.float32), rng.random((2, 5000, 3), np.float32)
    expected = mluop_omp.three_nn(unknown, known)
    child = os.fork()
    if child == 0:
        same = all(map(np.array_equal, expected, mluop_omp.three_nn(unknown, known)))
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
