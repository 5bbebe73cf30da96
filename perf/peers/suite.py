"""Measures all peers on the inputs of a folder and prints the table."""

import math
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

import table
import timing
import verify
from networks import bev_depth, center_point, mvx_net, point_net
from ops import (
    assign_score_withk_backward,
    assign_score_withk_forward,
    ball_query,
    bev_pool_backward,
    bev_pool_forward,
    box_iou_rotated,
    dcn_backward_data,
    dcn_backward_weight,
    dcn_forward,
    dynamic_point_to_voxel_forward,
    dynamic_scatter_backward,
    dynamic_scatter_backward_sum,
    focal_loss_sigmoid_backward,
    focal_loss_sigmoid_forward,
    furthest_point_sample,
    gather_points_backward,
    gather_points_forward,
    generate_proposals_v2,
    get_indice_pairs,
    indice_convolution_forward,
    indice_maxpool_backward,
    indice_maxpool_forward,
    knn,
    masked_col2im_forward,
    masked_im2col_forward,
    moe_dispatch_backward_data,
    moe_dispatch_backward_gate,
    moe_dispatch_forward,
    ms_deform_attn_backward,
    ms_deform_attn_forward,
    mutual_information_backward,
    mutual_information_forward,
    nms,
    nms_rotated,
    points_in_boxes_part,
    reached_sites,
    roi_align_backward_v2,
    roi_align_forward_v2,
    roiaware_pool3d_backward,
    roiaware_pool3d_forward,
    roipoint_pool3d,
    site_pairs,
    softmax_focal_loss_backward,
    softmax_focal_loss_forward,
    stack_ball_query,
    stack_group_points_backward,
    stack_group_points_forward,
    sync_bn_backward_data,
    sync_bn_forward_output,
    three_interpolate_backward,
    three_interpolate_forward,
    three_nn_forward,
    voxel_pooling_backward,
    voxel_pooling_forward,
    voxelization,
)
from peer import Inputs, Peer

_OPERATORS = (
    voxel_pooling_forward,
    voxel_pooling_backward,
    three_interpolate_backward,
    three_interpolate_forward,
    three_nn_forward,
    masked_im2col_forward,
    masked_col2im_forward,
    dynamic_point_to_voxel_forward,
    dynamic_scatter_backward,
    dynamic_scatter_backward_sum,
    indice_convolution_forward,
    get_indice_pairs,
    site_pairs,
    reached_sites,
    ball_query,
    furthest_point_sample,
    gather_points_forward,
    gather_points_backward,
    knn,
    points_in_boxes_part,
    voxelization,
    box_iou_rotated,
    nms_rotated,
    nms,
    generate_proposals_v2,
    roiaware_pool3d_forward,
    roiaware_pool3d_backward,
    roipoint_pool3d,
    stack_ball_query,
    stack_group_points_forward,
    stack_group_points_backward,
    assign_score_withk_forward,
    assign_score_withk_backward,
    bev_pool_forward,
    bev_pool_backward,
    indice_maxpool_forward,
    indice_maxpool_backward,
    dcn_forward,
    dcn_backward_data,
    dcn_backward_weight,
    focal_loss_sigmoid_forward,
    focal_loss_sigmoid_backward,
    softmax_focal_loss_forward,
    softmax_focal_loss_backward,
    sync_bn_forward_output,
    sync_bn_backward_data,
    moe_dispatch_forward,
    moe_dispatch_backward_gate,
    moe_dispatch_backward_data,
    mutual_information_forward,
    mutual_information_backward,
    roi_align_forward_v2,
    roi_align_backward_v2,
    ms_deform_attn_forward,
    ms_deform_attn_backward,
)
# Folders of `networks`, by the name of the network.
_NETWORKS = (center_point, point_net, mvx_net, bev_depth)


def _load(folder: Path) -> Inputs:
    """Returns the inputs by the names of the parameters."""
    return {file.stem: _tensor(np.load(file)) for file in folder.glob("*.npy")}


def _tensor(array: np.ndarray) -> torch.Tensor:
    """Void elements are of types that NumPy lacks: bfloat16, or complex numbers of halves."""
    if array.dtype == np.dtype("V4"):
        pairs = array.view(np.float16).reshape(*array.shape, 2)
        return torch.view_as_complex(torch.from_numpy(pairs))
    if array.dtype.kind == "V":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _verify(peer: Peer, expected: tuple[torch.Tensor, ...]) -> tuple[bool, str]:
    """Returns whether the peer is timed, and its problem."""
    try:
        problem = verify.difference(peer.canonical(peer.run()), expected)
    except Exception as error:  # for example an unsupported data type, or no compiler
        return False, f"{peer.name}: failed: {str(error).splitlines()[0]}"
    return peer.may_differ or not problem, f"{peer.name}: {problem}" if problem else ""


def _measure(ours: Peer, peers: list[Peer], case: str, repetitions: int) -> table.Row:
    expected = tuple(tensor.clone() for tensor in ours.run())
    verified = [_verify(peer, expected) for peer in peers]
    timed = [i for i, (is_timed, _) in enumerate(verified) if is_timed]
    medians = timing.medians([ours.run, *(peers[i].run for i in timed)], repetitions)
    seconds = [math.nan] * len(peers)
    for i, median in zip(timed, medians[1:]):
        seconds[i] = median
    return table.Row(case, medians[0], seconds, [problem for _, problem in verified if problem])


def _measure_operator(
    operator: ModuleType, folders: list[Path], repetitions: int
) -> tuple[list[Peer], list[table.Row]]:
    rows = []
    for folder in folders:
        case = folder.name.rpartition("_")
        title = f"{case[0]} {case[2]}"
        print(f"{folder.parent.name}/{title} ...", file=sys.stderr, flush=True)
        # torch.compile limits the number of versions of a function; each case is a version.
        torch.compiler.reset()
        inputs = _load(folder)
        peers = operator.peers(inputs)
        rows.append(_measure(operator.ours(inputs), peers, title, repetitions))
    return peers, rows


def measure_all(inputs: Path, operator_text: str, case_text: str, repetitions: int) -> bool:
    """Prints the tables. Returns False if a peer failed, or differs although it must not."""
    # Warnings on the implementation of PyTorch's functions.
    warnings.filterwarnings("ignore", category=UserWarning, module="ops|torch")
    verified = True
    for operator in (*_OPERATORS, *_NETWORKS):
        package, _, name = operator.__name__.rpartition(".")
        found = (inputs / name).glob("*") if package == "ops" else (inputs / package).glob(f"{name} *")
        folders = sorted(folder for folder in found if case_text in folder.name)
        if operator_text not in (name if package == "ops" else package) or not folders:
            continue
        peers, rows = _measure_operator(operator, folders, repetitions)
        print(table.text(name, peers, rows))
        verified &= all(p.may_differ or s == s for row in rows for p, s in zip(peers, row.seconds))
    print(table.LEGEND)
    return verified
