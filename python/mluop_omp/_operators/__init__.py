"""The operators: a module a family, a declaration an operator.

Start at _declaration.py, which says what follows from a declaration.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING

from mluop_omp._operators._declaration import all_operators, operators  # noqa: F401
from mluop_omp._operators.attention import *
from mluop_omp._operators.batch_norm import *
from mluop_omp._operators.bev_pools import *
from mluop_omp._operators.bezier_rois import *
from mluop_omp._operators.boxes import *
from mluop_omp._operators.chamfer import *
from mluop_omp._operators.crops import *
from mluop_omp._operators.deform_conv import *
from mluop_omp._operators.deformable_rois import *
from mluop_omp._operators.experts import *
from mluop_omp._operators.grouping import *
from mluop_omp._operators.interpolation import *
from mluop_omp._operators.lattices import *
from mluop_omp._operators.layouts import *
from mluop_omp._operators.losses import *
from mluop_omp._operators.masked_conv import *
from mluop_omp._operators.neighborhoods import *
from mluop_omp._operators.neighbors import *
from mluop_omp._operators.pixel_bins import *
from mluop_omp._operators.point_sets import *
from mluop_omp._operators.priors import *
from mluop_omp._operators.roi_pools import *
from mluop_omp._operators.rois import *
from mluop_omp._operators.rotated_filters import *
from mluop_omp._operators.rotated_rois import *
from mluop_omp._operators.sampling import *
from mluop_omp._operators.sites import *
from mluop_omp._operators.sparse_conv import *
from mluop_omp._operators.sparse_pool import *
from mluop_omp._operators.suppression import *
from mluop_omp._operators.text_regions import *
from mluop_omp._operators.videos import *
from mluop_omp._operators.voxels import *

if not TYPE_CHECKING:  # mypy takes a list of literals for the whole of __all__.
    __all__ = [each.name for each in all_operators()]
