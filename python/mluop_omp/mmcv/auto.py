"""Calls `mluop_omp.mmcv.install()` when it is imported."""

from mluop_omp.mmcv import install

install()
