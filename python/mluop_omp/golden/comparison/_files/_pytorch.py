"""PyTorch's files, read with `weights_only=True`."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from mluop_omp import _requirements
from mluop_omp.golden.comparison._files._elements import unique
from mluop_omp.golden.comparison._files._sparse import sparse_or_named


def read_pt(path: Path) -> Any:
    message = _requirements.missing("torch")
    if message is not None:
        raise ValueError(message)
    import torch

    is_zip = zipfile.is_zipfile(path)
    if is_zip:
        unique((name, None) for name in zipfile.ZipFile(path).namelist())
    try:
        value = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip or None)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"torch.load(weights_only=True): {reason}") from error
    return sparse_or_named(value) if isinstance(value, dict) else value
