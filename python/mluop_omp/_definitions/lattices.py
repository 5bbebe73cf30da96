"""Mutual information: sums over the monotone paths through a lattice."""

from __future__ import annotations

import numpy as np


def _boundaries(px, py, boundary):
    B, S, T = len(px), px.shape[1], py.shape[2]
    rows = np.tile([0, 0, S, T], (B, 1)) if boundary is None else boundary
    for b, (s0, t0, s1, t1) in enumerate(rows.tolist()):
        if min(s0, t0) < 0 or s1 > S or t1 > T:
            raise IndexError(f"boundary {b} is outside of the lattice")
        if s0 <= s1 and t0 <= t1:
            yield b, s0, t0, s1, t1


def _log_add(x, y):
    """Returns x if one of them is NaN."""
    larger, difference = (y, x - y) if x < y else (x, y - x)
    return larger + np.log1p(np.exp(difference)) if difference >= -40 else larger


def mutual_information(px, py, boundary):
    px, py = px.astype(np.float64), py.astype(np.float64)
    p, ans = np.zeros((len(px), py.shape[1], px.shape[2])), np.zeros(len(px))
    for b, s0, t0, s1, t1 in _boundaries(px, py, boundary):
        for s in range(s0, s1 + 1):
            for t in range(t0, t1 + 1):
                if (s, t) != (s0, t0):
                    x = p[b, s - 1, t] + px[b, s - 1, t] if s > s0 else -np.inf
                    y = p[b, s, t - 1] + py[b, s, t - 1] if t > t0 else -np.inf
                    p[b, s, t] = _log_add(x, y)
        ans[b] = p[b, s1, t1]
    return ans, p


def _share(exponent):
    share = np.exp(exponent) if np.isfinite(exponent) else 0
    return share if np.isfinite(share) else 0


def mutual_information_backward(px, py, p, ans_grad, boundary):
    px, py, p, ans_grad = (each.astype(np.float64) for each in (px, py, p, ans_grad))
    px_grad, py_grad = np.zeros_like(px), np.zeros_like(py)
    for b, s0, t0, s1, t1 in _boundaries(px, py, boundary):
        q = np.where(p[b] < -1e30, -1e30, p[b])
        grad = np.zeros_like(q)
        for s in range(s1, s0 - 1, -1):
            for t in range(t1, t0 - 1, -1):
                if s < s1:
                    share = _share(q[s, t] + px[b, s, t] - q[s + 1, t])
                    px_grad[b, s, t] = grad[s + 1, t] * share
                if t < t1:
                    share = _share(q[s, t] + py[b, s, t] - q[s, t + 1])
                    py_grad[b, s, t] = grad[s, t + 1] * share
                if (s, t) == (s1, t1):
                    grad[s, t] = ans_grad[b]
                else:
                    along_s = px_grad[b, s, t] if s < s1 else 0
                    grad[s, t] = along_s + (py_grad[b, s, t] if t < t1 else 0)
    return px_grad, py_grad


def mutual_information_arguments(random, B=2, S=(2, 0, 4), T=(3, 0, 6), bounded=(True, False)):
    """Boundaries cut off a row or a column."""
    boundary = None
    if bounded:
        cut = random.integers(0, 2, B, 4) * np.array([1, 1, -1, -1])
        boundary = np.array([0, 0, S, T]) + cut * (np.array([S, T, S, T]) > 2)
    return random.floats(B, S, T + 1), random.floats(B, S + 1, T), boundary


def mutual_information_backward_arguments(
    random, B=2, S=(2, 0, 4), T=(3, 0, 6), bounded=(True, False)
):
    px, py, boundary = mutual_information_arguments(random, B, S, T, bounded)
    p = mutual_information(px, py, boundary)[1].astype(np.float32)
    return px, py, p, random.floats(B), boundary
