"""Formats the measured cases as text of at most 100 columns."""

from dataclasses import dataclass, field

from peer import Peer


@dataclass
class Row:
    """The latencies of a case in seconds: the library and each peer. NaN: not timed."""

    case: str
    ours: float
    seconds: list[float]
    problems: list[str] = field(default_factory=list)


def _label(index: int, peer: Peer) -> str:
    return "abcdefgh"[index] + ("*" if peer.idiomatic else "" if peer.counts else "~")


def _milliseconds(seconds: float) -> str:
    if seconds != seconds:
        return "-"
    value = seconds * 1e3
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"


def _ratio(row: Row, peers: list[Peer], idiomatic: bool) -> str:
    """Latency of the fastest peer, or of the fastest idiomatic peer, over the library's latency."""
    candidates = [s for p, s in zip(peers, row.seconds) if p.counts and (p.idiomatic or not idiomatic) and s == s]
    return f"{min(candidates) / row.ours:.1f}" if candidates else "-"


def text(operator: str, peers: list[Peer], rows: list[Row]) -> str:
    labels = [_label(i, peer) for i, peer in enumerate(peers)]
    lines = [operator, *(f"  {label:3}{peer.name}" for label, peer in zip(labels, peers))]
    lines.append(f"  {'case':24}" + "".join(f"{name:>8}" for name in ["ours", *labels]) + " idiomatic fastest")
    for row in rows:
        times = "".join(f"{_milliseconds(seconds):>8}" for seconds in [row.ours, *row.seconds])
        ratios = _ratio(row, peers, idiomatic=True), _ratio(row, peers, idiomatic=False)
        lines.append(f"  {row.case:24}{times}{ratios[0]:>10}{ratios[1]:>8}")
    return "\n".join(lines + [f"  {row.case}: {problem}" for row in rows for problem in row.problems]) + "\n"


LEGEND = """Times are medians in ms of interleaved calls. idiomatic: fastest idiomatic implementation (*) / ours.
fastest: fastest implementation / ours. ~: does less than the operator, excluded from the ratios.
"""
