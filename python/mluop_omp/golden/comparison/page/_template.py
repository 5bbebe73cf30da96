"""The HTML of a page. Text is escaped; colors follow the scheme of the browser."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from string import Template

from mluop_omp.golden.comparison._report import EQUAL

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>$title</title>
<style>
:root { --page: #ffffff; --ink: #1c1e21; --field: #eef0f2; --line: #d8dce0; --good: #177245;
  --bad: #b3126b; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181b; --ink: #e4e6e9; --field: #26292e; --line: #3a3f45; --good: #4cc38a;
    --bad: #ff7ab8; }
}
body { margin: 1.5rem auto; max-width: 84rem; padding: 0 1.5rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.3rem; margin: 0 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .2rem; overflow-wrap: anywhere; }
.equal { color: var(--good); } .differ { color: var(--bad); }
pre { background: var(--field); border-radius: 6px; padding: .8rem 1rem; overflow-x: auto;
  font: 13px/1.45 "DejaVu Sans Mono", ui-monospace, monospace; }
section { border-top: 1px solid var(--line); }
p { margin: .2rem 0 .6rem; overflow-wrap: anywhere; }
.figures { columns: 2 30rem; column-gap: 2rem; margin-top: .8rem; }
figure { margin: 0 0 1.2rem; max-width: 42rem; break-inside: avoid; }
figcaption { font-weight: 600; font-size: .9rem; margin-bottom: .2rem; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 11px; text-anchor: middle; fill: var(--ink); }
svg.half text { font-size: 12.5px; }
svg .y { text-anchor: end; } svg .field { fill: var(--field); }
svg .frame { fill: none; stroke: var(--ink); stroke-width: .8; }
svg .mark { fill: none; stroke-width: 1.4; } svg image { image-rendering: pixelated; }
.table { max-height: 18rem; overflow: auto; background: var(--field); border-radius: 6px; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem; text-align: right; white-space: nowrap; }
th { position: sticky; top: 0; background: var(--line); z-index: 1; }
tr > :first-child { text-align: left; white-space: normal; overflow-wrap: anywhere;
  min-width: 9rem; max-width: 28rem; }
tr > :nth-child(2) { text-align: left; }
tr.differ td:nth-child(2) { font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); }
.legend { font-size: .85rem; } .legend span { margin-right: 1rem; }
.legend em { font-style: normal; }
.legend em:empty { display: inline-block; width: 8rem; height: .7rem; }
@media (min-width: 60rem) { pre { white-space: pre-wrap; } }
@media (max-width: 34rem) {
  body { margin: 1rem auto; padding: 0 .8rem; }
  h1 { font-size: 1.1rem; } pre { font-size: 12px; padding: .6rem; }
  svg.wide text { font-size: 15px; } svg.half text { font-size: 10.5px; }
  tr > :first-child { position: sticky; left: 0; max-width: 11rem; background: var(--line); }
  th, td { padding: .15rem .5rem; } td:nth-child(2) { white-space: normal; }
  thead > tr > :first-child { z-index: 2; }
}
</style>
</head>
<body>
<h1 class="$verdict">$title</h1>
$report
$table
$sections
$omitted
</body>
</html>
""")


def page(
    equal: bool, lines: Sequence[str], table: str, sections: Sequence[str], omitted: int
) -> str:
    """Returns the page. lines: the report; its first line is the title."""
    note = f"<p>{omitted} more tensors that differ are not drawn.</p>" if omitted else ""
    return _PAGE.substitute(
        title=escape(lines[0] if lines else ""),
        verdict="equal" if equal else "differ",
        report=f"<pre>{escape(chr(10).join(lines[1:]))}</pre>" if len(lines) > 1 else "",
        table=table,
        sections="\n".join(sections),
        omitted=note,
    )


def table(rows: Sequence[Sequence[str]], limit: int) -> str:
    """Returns a table of tensors. rows: a header, and one for each; `limit` are shown."""
    head, *body = (
        "".join(f"<{tag}>{escape(each)}</{tag}>" for each in row)
        for row, tag in zip(rows, ["th", *["td"] * (len(rows) - 1)])
    )
    wrong = [row[1] != EQUAL for row in rows[1:]]
    count = f"{len(body)} tensors, {wrong.count(True)} not equal"
    lines = "\n".join(
        f"<tr{' class=differ' * is_wrong}>{row}</tr>" for row, is_wrong in zip(body[:limit], wrong)
    )
    more = f"<p>{len(body) - limit} more tensors are not listed.</p>" if len(body) > limit else ""
    return (
        f"<section>\n<h2>{count}</h2>\n"
        f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{lines}\n</tbody></table></div>\n{more}</section>"
    )


def section(name: str, verdict: str, figures: Sequence[tuple[str, str]]) -> str:
    """Returns the section of a tensor. figures: captions with drawings, or "" for text."""
    head = f"<h2>{escape(name)}</h2>\n<p>{escape(verdict)}</p>\n" if name else ""
    drawings = "\n".join(_figure(escape(caption), drawing) for caption, drawing in figures)
    return f'<section>\n{head}<div class="figures">\n{drawings}\n</div>\n</section>'


def _figure(caption: str, drawing: str) -> str:
    if not drawing:
        return f"<p>{caption}</p>"
    labeled = drawing.replace("<svg ", f'<svg role="img" aria-label="{caption}" ')
    return f"<figure>\n<figcaption>{caption}</figcaption>\n{labeled}\n</figure>"
