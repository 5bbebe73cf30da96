"""The measured cases as text, at most 100 columns."""

from dataclasses import dataclass, field

from peer import Peer


@dataclass
class Row:
    """A case: seconds of ours and of each peer; NaN for one that was not timed."""

    case: str
    ours: float
    seconds: list[float]
    notes: list[str] = field(default_factory=list)


def _label(index: int, peer: Peer) -> str:
    return "abcdefgh"[index] + ("*" if peer.written else "" if peer.counts else "~")


def _milliseconds(seconds: float) -> str:
    if seconds != seconds:
        return "-"
    value = seconds * 1e3
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"


def _ratio(row: Row, peers: list[Peer], written: bool) -> str:
    """Of the fastest peer, or of the fastest as people write it."""
    candidates = [s for p, s in zip(peers, row.seconds) if p.counts and (p.written or not written) and s == s]
    return f"{min(candidates) / row.ours:.1f}" if candidates else "-"


def text(operator: str, peers: list[Peer], rows: list[Row]) -> str:
    labels = [_label(i, peer) for i, peer in enumerate(peers)]
    lines = [operator, *(f"  {label:3}{peer.name}" for label, peer in zip(labels, peers))]
    lines.append(f"  {'case':24}" + "".join(f"{name:>8}" for name in ["ours", *labels]) + "  written fastest")
    for row in rows:
        times = "".join(f"{_milliseconds(seconds):>8}" for seconds in [row.ours, *row.seconds])
        ratios = _ratio(row, peers, written=True), _ratio(row, peers, written=False)
        lines.append(f"  {row.case:24}{times}{ratios[0]:>9}{ratios[1]:>8}")
    return "\n".join(lines + [f"  {row.case}: {note}" for row in rows for note in row.notes]) + "\n"


LEGEND = """Times: ms, medians of calls in turns. written: of the fastest that people write (*), over ours.
fastest: of the fastest of all, over ours. ~ does less than the operator, and does not count.
"""
