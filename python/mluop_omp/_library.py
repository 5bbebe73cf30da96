"""The shared library: its functions, its errors, and the handle of each thread.

ctypes releases the GIL during a call of a function.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import threading
import weakref
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
    "mluOpCreateSparseConvolutionDescriptor": "p",
    "mluOpDestroySparseConvolutionDescriptor": "p",
    "mluOpSetSparseConvolutionDescriptor": "piippppppiii",
    "mluOpGetSparseConvolutionNumActOut": "pp",
    "mluOpVoxelPoolingForward": "piiiiiipppppppp",
    "mluOpGetVoxelizationWorkspaceSize": "ppppiiibppppp",
    "mluOpVoxelization": "pppppppiiibpspppppppp",
    "mluOpBallQuery": "pppppffipp",
    "mluOpThreeNNForward": "ppppppspppp",
    "mluOpGetThreeNNForwardWorkspaceSize": "ppp",
    "mluOpThreeInterpolateForward": "ppppppppp",
    "mluOpThreeInterpolateBackward": "ppppppppp",
    "mluOpGetMaskedIm2colForwardWorkspaceSize": "ppppiipp",
    "mluOpMaskedIm2colForward": "pppppppiiiipspp",
    "mluOpGetMaskedCol2imForwardWorkspaceSize": "pppppp",
    "mluOpMaskedCol2imForward": "pppppppsppp",
    "mluOpDynamicPointToVoxelForward": "pipppppspppppppppp",
    "mluOpGetDynamicPointToVoxelForwardWorkspaceSize": "pppp",
    "mluOpDynamicScatterBackward": "pipppppppppppppspp",
    "mluOpGetDynamicScatterBackwardWorkspaceSize": "pipp",
    "mluOpIndiceConvolutionForward": "pppppppplllpspp",
    "mluOpGetIndiceConvolutionForwardWorkspaceSize": "pppppplllp",
    "mluOpIndiceConvolutionBackwardData": "ppppppppllpspp",
    "mluOpGetIndiceConvolutionBackwardDataWorkspaceSize": "pppppplp",
    "mluOpIndiceConvolutionBackwardFilter": "ppppppppllpspp",
    "mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize": "ppppppllp",
    "mluOpGetIndicePairs": "pppppspppppp",
    "mluOpGetIndicePairsWorkspaceSize": "ppppppp",
    "mluOpOmpSetAlgorithm": "pi",
    "mluOpOmpReleaseMemory": "p",
    "mluOpOmpVoxelPoolingBackward": "ppppppp",
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
    path = str(Path(__file__).with_name("libmluop_omp.so"))
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        if "libgomp" not in str(error):
            raise
    # The OpenMP runtime is not in the wheel, so that a process has one only. Without that of the
    # system, PyTorch's serves.
    torch = importlib.util.find_spec("torch")
    runtimes = (
        list(Path(torch.origin).parent.glob("lib/libgomp*.so*")) if torch and torch.origin else []
    )
    if not runtimes:
        raise ImportError("mluop_omp requires libgomp.so.1: install libgomp1 (Debian) or PyTorch")
    ctypes.CDLL(str(runtimes[0]), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(path)


def _declare(functions: ctypes.CDLL) -> None:
    for name, parameters in DECLARATIONS.items():
        function = getattr(functions, name)
        function.argtypes = [_TYPES[parameter] for parameter in parameters]
        function.restype = ctypes.c_int
    functions.mluOpOmpGetLastError.restype = ctypes.c_char_p


# Errors are exceptions here; the log would repeat them on stderr.
os.environ.setdefault("MLUOP_LOG_LEVEL", "off")
functions = _load()
_declare(functions)


def require(status: int) -> None:
    """Raises MluOpError with the message of the library, unless the status is SUCCESS."""
    if status:
        raise MluOpError(Status(status), functions.mluOpOmpGetLastError().decode())


class Object(int):
    """The address of an object of the library, such as a descriptor, which it owns.

    As an argument, an integer costs half as much as an instance of ctypes.c_void_p.
    """

    _destroy: Callable[..., int]

    @classmethod
    def create(cls, function: Callable[..., int]) -> Any:
        pointer = ctypes.c_void_p()
        require(function(ctypes.byref(pointer)))
        return cls(pointer.value)

    def __del__(self) -> None:
        self._destroy(self)


class _Context(Object):
    _destroy = functions.mluOpDestroy


class Handle:
    """The handle of a thread, and the memory that its calls use."""

    def __init__(self, algorithm: str) -> None:
        self.pointer = _Context.create(functions.mluOpCreate)
        # Where an operator writes a number.
        self.number = ctypes.c_int32()
        self.number_address = ctypes.addressof(self.number)
        self._size = ctypes.c_size_t()
        self._size_address = ctypes.addressof(self._size)
        self._sizes: dict[tuple, int] = {}
        self._allocate(0)
        self.set_algorithm(algorithm)

    def set_algorithm(self, name: str) -> None:
        require(functions.mluOpOmpSetAlgorithm(self.pointer, ALGORITHMS.index(name)))
        # A new dictionary: the thread of this handle may be about to add a size to the old one.
        self._sizes = {}

    def _allocate(self, size: int) -> None:
        self._memory = np.empty(size, np.uint8)
        self._memory_address = self._memory.ctypes.data

    def workspace(self, query: Callable[..., int], *arguments: Any) -> tuple[int | None, int]:
        """Returns a workspace as large as the query requires, for the next call, and its size.

        The arguments are objects, numbers and bytes. A size depends on them and on the algorithm
        only, so that it is kept.
        """
        sizes, key = self._sizes, (query.__name__, arguments)
        size = sizes.get(key)
        if size is None:
            require(query(self.pointer, *arguments, self._size_address))
            size = self._size.value
            if len(sizes) >= _MAX_SIZES:
                sizes.clear()
            sizes[key] = size
        if size == 0:
            return None, 0
        if size > self._memory.size:
            self._allocate(0)
            self._allocate(size)
        return self._memory_address, size

    def release_memory(self) -> None:
        self._allocate(0)
        require(functions.mluOpOmpReleaseMemory(self.pointer))


class _Handles(threading.local):
    """Creates the handle of a thread with its first call; it is destroyed with the thread."""

    def __init__(self) -> None:
        self.handle = Handle(_settings.algorithm)
        with _settings.lock:
            _settings.handles.add(self.handle)


class _Settings:
    """The settings of the process."""

    def __init__(self) -> None:
        self.algorithm = os.environ.get("MLUOP_OMP_ALGORITHM", ALGORITHMS[0])
        self.handles: weakref.WeakSet[Handle] = weakref.WeakSet()
        self.renew_lock()

    def renew_lock(self) -> None:
        self.lock = threading.Lock()


_settings = _Settings()
# Another thread of the parent may have held the lock.
os.register_at_fork(after_in_child=_settings.renew_lock)
_handles = _Handles()


def handle() -> Handle:
    """Returns the handle of the calling thread."""
    return _handles.handle


def set_algorithm(name: str) -> None:
    if name not in ALGORITHMS:
        raise ValueError(f"algorithm is {name!r}, expected one of {', '.join(ALGORITHMS)}")
    with _settings.lock:
        _settings.algorithm = name
        for each in _settings.handles:
            each.set_algorithm(name)


def get_algorithm() -> str:
    return _settings.algorithm
