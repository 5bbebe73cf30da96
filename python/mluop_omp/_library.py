"""The shared library: its functions, its errors, and the handles of calls.

ctypes releases the GIL during a call of a function.
"""

from __future__ import annotations

import collections
import ctypes
import functools
import importlib.util
import os
from enum import IntEnum
from pathlib import Path
from typing import Any, Callable

import numpy as np

# The parameters of each function, all of which return a status: p pointer, i int or enumerator, l
# int64_t, s size_t, f float, b bool. A test compares the table with the headers.
DECLARATIONS = {
    "mluOpCreate": "p",
    "mluOpDestroy": "p",
    "mluOpCreateTensorDescriptor": "p",
    "mluOpDestroyTensorDescriptor": "p",
    "mluOpSetTensorDescriptor_v2": "piiip",
    "mluOpOmpSetDefaultLogLevel": "p",
    "mluOpOmpSetAlgorithm": "pi",
    "mluOpOmpReleaseMemory": "p",
    "mluOpOmpCompare": "ppppppp",
    "mluOpOmpDestroyComparison": "p",
    "mluOpOmpGetDifference": "pp",
    "mluOpOmpGetWrongElements": "pipp",
}
# An integer of any type is passed as a pointer, which takes a third of the time. On 64-bit machines
# both have a register or 8 bytes of the stack, of which the function reads the bytes of its type.
_TYPES = {code: ctypes.c_void_p for code in "pilsb"}
_TYPES["f"] = ctypes.c_float
ALGORITHMS = ("native", "device")
# Workspace sizes that a handle keeps.
_MAX_SIZES = 1024


class Status(IntEnum):
    """The status of a call, without the prefix MLUOP_STATUS_."""

    SUCCESS = 0
    NOT_INITIALIZED = 1
    ALLOC_FAILED = 2
    BAD_PARAM = 3
    INTERNAL_ERROR = 4
    ARCH_MISMATCH = 5
    EXECUTION_FAILED = 6
    NOT_SUPPORTED = 7
    NUMERICAL_OVERFLOW = 8


class MluOpError(RuntimeError):
    """An operator refused its arguments or failed; outputs that the caller passed are unchanged.

    Attributes:
        status: why; see "Returns" of the function in mlu_op.h.
        message: the operator, the parameter, and the values found and expected.
    """

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} ({self.status.name})"


def bad_param(message: str) -> MluOpError:
    return MluOpError(Status.BAD_PARAM, message)


def not_supported(message: str) -> MluOpError:
    return MluOpError(Status.NOT_SUPPORTED, message)


def _load() -> ctypes.CDLL:
    _load_openmp_runtime()
    try:
        return ctypes.CDLL(str(Path(__file__).with_name("libmluop_omp.so")))
    except OSError as error:
        if "libgomp" not in str(error):
            raise
    raise ImportError("mluop_omp requires libgomp.so.1: install libgomp1 (Debian) or PyTorch")


def _load_openmp_runtime() -> None:
    """Loads the OpenMP runtime of PyTorch, so that the process has one only.

    The wheel has no runtime. libmluop_omp.so uses the libgomp.so.1 that is loaded, or else the
    system's; PyTorch, whose file may have another name, would then load a second one.
    """
    try:
        ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        for runtime in openmp_runtimes_of_torch():
            ctypes.CDLL(runtime)


def openmp_runtimes_of_torch() -> list[str]:
    """Returns the files of the OpenMP runtime in PyTorch, which it does not import."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return []
    return [str(runtime) for runtime in Path(torch.origin).parent.glob("lib/libgomp*.so*")]


functions = _load()


def function(name: str, parameters: str) -> Callable[..., int]:
    """Declares a function of the library, with its parameters as in DECLARATIONS."""
    declared = getattr(functions, name)
    declared.argtypes = [_TYPES[parameter] for parameter in parameters]
    DECLARATIONS[name] = parameters
    return declared


for _name, _parameters in list(DECLARATIONS.items()):
    function(_name, _parameters)
functions.mluOpOmpGetLastError.restype = ctypes.c_char_p
functions.mluOpOmpGetInstructionSet.restype = ctypes.c_char_p
functions.mluOpOmpGetCompiler.restype = ctypes.c_char_p
functions.mluOpOmpGetComparisonPattern.argtypes = [ctypes.c_void_p]
functions.mluOpOmpGetComparisonPattern.restype = ctypes.c_char_p

# Errors are exceptions here; the log would repeat them on stderr.
functions.mluOpOmpSetDefaultLogLevel(b"off")


def require(status: int) -> None:
    """Raises MluOpError with the message of the library, unless the status is SUCCESS."""
    if status:
        raise MluOpError(Status(status), functions.mluOpOmpGetLastError().decode())


class _Owner:
    """Destroys an object of the library, from the moment on that the library has created it."""

    pointer: ctypes.c_void_p | None = None

    def __init__(self, destroy: Callable[..., int]) -> None:
        self.pointer = ctypes.c_void_p()
        self._destroy = destroy

    def __del__(self) -> None:
        if self.pointer:
            self._destroy(self.pointer)


class Object(int):
    """The address of an object of the library, such as a descriptor, which it owns.

    As an argument, an integer costs half as much as an instance of ctypes.c_void_p.
    """

    _destroy: Callable[..., int]
    _owner: _Owner

    @classmethod
    def create(cls, function: Callable[..., int]) -> Any:
        # Whatever interrupts this function, the owner destroys what has been created.
        owner = _Owner(cls._destroy)
        require(function(ctypes.byref(owner.pointer)))
        created = cls(owner.pointer.value)
        created._owner = owner
        return created


class _Context(Object):
    _destroy = functions.mluOpDestroy


_NO_MEMORY = np.empty(0, np.uint8)


class Handle:
    """A handle of the library, and the memory of its calls. A call has it for itself.

    with handle() as own:
        own.call(functions.mluOp..., ...)

    An exception in the block, whatever it is and wherever it strikes, discards the handle.
    """

    def __init__(self, algorithm: str) -> None:
        self.pointer = _Context.create(functions.mluOpCreate)
        require(functions.mluOpOmpSetAlgorithm(self.pointer, ALGORITHMS.index(algorithm)))
        self._idle = idle[algorithm]
        # Where an operator writes a number.
        self.number = ctypes.c_int32()
        self.number_address = ctypes.addressof(self.number)
        self._sizes: dict[tuple, int] = {}
        self._memory = _NO_MEMORY
        self._address: int | None = None
        # Returns make(*arguments), of an earlier call if there was one with the same arguments.
        self.keep = functools.lru_cache(maxsize=256)(lambda make, *arguments: make(*arguments))

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, exception: type | None, value: object, traceback: object) -> None:
        if exception is None:
            self._idle.append(self)

    def call(self, function: Callable[..., int], *arguments: Any) -> None:
        """Calls a function of the library with the handle and the arguments."""
        status = function(self.pointer, *arguments)
        if status:
            require(status)

    def workspace(self, query: Callable[..., int], *arguments: Any) -> tuple[int | None, int]:
        """Returns a workspace as large as the query requires, for the next call, and its size.

        The arguments are objects, numbers and bytes. A size depends on them and on the algorithm
        only, so that it is kept.
        """
        key = query.__name__, arguments
        size = self._sizes.get(key)
        if size is None:
            queried = ctypes.c_size_t()
            require(query(self.pointer, *arguments, ctypes.byref(queried)))
            size = queried.value
            if len(self._sizes) >= _MAX_SIZES:
                self._sizes.clear()
            self._sizes[key] = size
        if size > self._memory.size:
            self._memory = _NO_MEMORY
            self._memory = np.empty(size, np.uint8)
            self._address = self._memory.ctypes.data
        return self._address if size else None, size


# The handles that no call has, by their algorithm, which is fixed: a call that finds none creates
# one, so that there are as many as calls were in progress at a time. Calls may come from any thread
# and, between any two instructions of another call, from a signal handler or a finalizer.
idle: dict[str, list[Handle]] = collections.defaultdict(list)
algorithm = os.environ.get("MLUOP_OMP_ALGORITHM", ALGORITHMS[0])


def handle() -> Handle:
    """Returns a handle for a call, which returns it at the end of its `with` statement."""
    name = algorithm
    try:
        return idle[name].pop()
    except IndexError:
        return Handle(name)
