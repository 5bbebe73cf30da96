"""The nodes, a module for each kind. Importing this package declares all of them."""

from mluop_omp.onnx._nodes import attention as attention
from mluop_omp.onnx._nodes import deformable as deformable
from mluop_omp.onnx._nodes import lidar as lidar
from mluop_omp.onnx._nodes import mmcv as mmcv
from mluop_omp.onnx._nodes import own as own
from mluop_omp.onnx._nodes import pillars as pillars
from mluop_omp.onnx._nodes import rois as rois
from mluop_omp.onnx._nodes import rows as rows
from mluop_omp.onnx._nodes import sampling as sampling
from mluop_omp.onnx._nodes import spconv as spconv
from mluop_omp.onnx._nodes import suppression as suppression
from mluop_omp.onnx._nodes import views as views
