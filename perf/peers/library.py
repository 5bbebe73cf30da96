"""Calls libmluop_omp through ctypes: handle, tensor descriptors, and calls that raise exceptions on errors."""

import ctypes
from collections.abc import Callable

import torch

_ALGORITHMS = ("native", "device")
_LAYOUTS = {"NCHW": 0, "ARRAY": 4}
_DTYPES = {torch.float16: 1, torch.float32: 2, torch.int32: 6}


class Library:
    """Create it after importing torch: both then use the OpenMP runtime of torch, so they share one team."""

    def __init__(self, path: str, algorithm: str = "native") -> None:
        self._functions = ctypes.CDLL(path)
        self._functions.mluOpOmpGetLastError.restype = ctypes.c_char_p
        self._handle = ctypes.c_void_p()
        self._descriptors: dict[tuple[object, ...], ctypes.c_void_p] = {}
        self._require(self._functions.mluOpCreate(ctypes.byref(self._handle)))
        self._require(self._functions.mluOpOmpSetAlgorithm(self._handle, _ALGORITHMS.index(algorithm)))

    def close(self) -> None:
        self._require(self._functions.mluOpDestroy(self._handle))

    def describe(self, tensor: torch.Tensor, layout: str = "ARRAY") -> ctypes.c_void_p:
        """Returns the descriptor of tensors of this type and shape, which is never destroyed."""
        dtype, shape = tensor.dtype, tuple(tensor.shape)
        key = dtype, shape, layout
        if key in self._descriptors:
            return self._descriptors[key]
        descriptor = ctypes.c_void_p()
        self._require(self._functions.mluOpCreateTensorDescriptor(ctypes.byref(descriptor)))
        dims = (ctypes.c_int64 * len(shape))(*shape)
        layout_and_dtype = _LAYOUTS[layout], _DTYPES[dtype]
        self._require(
            self._functions.mluOpSetTensorDescriptor_v2(descriptor, *layout_and_dtype, len(shape), dims)
        )
        self._descriptors[key] = descriptor
        return descriptor

    def arguments(self, *tensors: torch.Tensor) -> tuple[object, ...]:
        """Returns descriptor and pointer of each tensor."""
        return tuple(argument for tensor in tensors for argument in (self.describe(tensor), pointer(tensor)))

    def workspace(self, query: str, *arguments: object) -> torch.Tensor:
        """Returns memory of the size that query(handle, arguments..., size) writes."""
        size = ctypes.c_size_t()
        self.call(query, *arguments, ctypes.byref(size))
        return torch.empty(size.value, dtype=torch.uint8)

    def call(self, name: str, *arguments: object) -> None:
        """Calls name(handle, arguments...)."""
        self.bind(name, *arguments)()

    def call_without_handle(self, name: str, *arguments: object) -> None:
        """Calls name(arguments...)."""
        self._require(self._functions[name](*arguments))

    def bind(self, name: str, *arguments: object, keep: object = None) -> Callable[[], None]:
        """Returns a function that calls name(handle, arguments...) with little overhead and keeps `keep` alive."""
        function = self._functions[name]

        def run(_: object = keep) -> None:
            self._require(function(self._handle, *arguments))

        return run

    def _require(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(self._functions.mluOpOmpGetLastError().decode())


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    """Returns a pointer to the data of the tensor, which must outlive it."""
    if not tensor.is_contiguous():
        raise ValueError("the tensor is not contiguous, expected a contiguous tensor")
    return ctypes.c_void_p(tensor.data_ptr())
