"""Regions of text in images: kernels that grow over the pixels next to them (PSENet, PAN)."""

from __future__ import annotations

from mluop_omp._arrays import Arrays, int32, size
from mluop_omp._definitions import text_regions as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import NoDerivative
from mluop_omp._operators._tensors import output_of

__all__ = ["contour_expand", "pixel_group"]

_contour_expand = function("mluOpOmpContourExpand", "piipppppp")
_pixel_group = function("mluOpOmpPixelGroup", "pfpppppppppppppppp")


@operator(definitions)
def contour_expand(
    arrays: Arrays,
    kernel_mask: Array,
    internal_kernel_label: Array,
    min_kernel_area: int,
    kernel_num: int,
) -> Array:
    """Labels the pixels of a mask with the text kernel that reaches them first (mmcv, PSENet).

    The pixels of all kernels are put into a queue in row order. The first one is removed; its
    neighbors up, down, left and right, in this order, that have no label and whose
    ``kernel_mask[0]`` is not 0 get its label and are appended to the queue, until this is empty.

    Only the first mask is read, as in mmcv: PSENet expands into the masks K - 2 to 0, one after the
    other, but mmcv's code reads mask 0 in each round. With fewer than two masks, nothing is
    expanded.

    Args:
        kernel_mask: uint8 [K, H, W].
        internal_kernel_label: int32 [H, W], from 0 to kernel_num; 0 is background.
        min_kernel_area: the pixels of a label that has fewer become background first.
        kernel_num: the largest label, at most 2^24.

    Returns:
        int32 [H, W]: the label of each pixel, 0 without one. It is exact: mmcv returns the same, as
            a list of lists. One thread expands.

    Raises:
        MluOpError: an element of internal_kernel_label is outside its range.

    Source: mluOpOmpContourExpand; PSENet, arXiv:1806.02559; mmcv contour_expand.
    """
    mask_tensor = arrays.tensor("kernel_mask", kernel_mask, "K H W")
    label_tensor = arrays.tensor("internal_kernel_label", internal_kernel_label, "H W")
    numbers = int32("min_kernel_area", min_kernel_area), int32("kernel_num", kernel_num)
    inputs = (*numbers, *mask_tensor, *label_tensor)
    return output_of(arrays, _contour_expand, inputs, "output", label_tensor[0].shape)


@operator(definitions, derivative=NoDerivative())
def pixel_group(
    arrays: Arrays,
    score: Array,
    mask: Array,
    embedding: Array,
    kernel_label: Array,
    kernel_contour: Array,
    kernel_region_num: int,
    distance_threshold: float,
) -> tuple[Array, Array, Array]:
    """Extends text kernels over the pixels whose embedding is near the kernel's mean (mmcv, PAN).

    The pixels of kernels whose kernel_contour is not 0 are put into a queue in row order. The first
    one is removed; its neighbors left, right, up and down, in this order, that have no label, whose
    mask is True, and whose squared distance to the mean embedding of the kernel is less than
    distance_threshold² get its label and are appended to the queue, until this is empty.

    Sums are computed in row order, and squared distances rounded after each channel. A NaN distance
    counts as less than the threshold.

    Args:
        score: float32 or float64 [H, W].
        mask: bool [H, W].
        embedding: [H, W, C] of the dtype of score.
        kernel_label: int32 [H, W], less than kernel_region_num; 0 and less is background.
        kernel_contour: uint8 [H, W].
        kernel_region_num: R, the number of labels, including 0.
        distance_threshold: in the unit of embedding.

    Returns:
        region_score: [R] of the dtype of score, the mean score of each label; 0 for label 0 and
            labels without pixels.
        region_pixels: int32 [R], the number of pixels of each label; 0 for label 0.
        text_label: int32 [H, W], the label of each pixel, 0 without one. All three are exact: mmcv
            returns the same numbers, as a list of score, number, x and y of each pixel for each
            label. One thread groups.

    Raises:
        MluOpError: an element of kernel_label is kernel_region_num or more.

    Source: mluOpOmpPixelGroup; PAN, arXiv:1908.05900; mmcv pixel_group.
    """
    score_tensor = arrays.tensor("score", score, "H W")
    inputs = (
        *(float(distance_threshold), *score_tensor, *arrays.tensor("mask", mask, "H W")),
        *arrays.tensor("embedding", embedding, "H W C"),
        *arrays.tensor("kernel_label", kernel_label, "H W"),
        *arrays.tensor("kernel_contour", kernel_contour, "H W"),
    )
    regions = (size("kernel_region_num", kernel_region_num),)
    region_score, *score_output = arrays.output("region_score", regions, score)
    region_pixels, *pixels_output = arrays.output("region_pixels", regions)
    text_label, *label_output = arrays.output("text_label", score_tensor[0].shape)
    with arrays.handle() as own:
        own.call(_pixel_group, *inputs, *score_output, *pixels_output, *label_output)
    return region_score, region_pixels, text_label
