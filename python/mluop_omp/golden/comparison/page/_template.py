"""The HTML of a page. Text is escaped; colors follow the scheme of the browser."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from string import Template

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
svg .y { text-anchor: end; } svg .field { fill: var(--field); }
svg .frame { fill: none; stroke: var(--ink); stroke-width: .8; }
svg .mark { fill: none; } svg image { image-rendering: pixelated; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); }
.legend { font-size: .85rem; } .legend span { margin-right: 1rem; }
.legend em { font-style: normal; }
.legend em:empty { display: inline-block; width: 8rem; height: .7rem; }
</style>
</head>
<body>
<h1 class="$verdict">$title</h1>
<pre>$report</pre>
$sections
$omitted
</body>
</html>
""")


def page(equal: bool, lines: Sequence[str], sections: Sequence[str], omitted: int) -> str:
    """Returns the page. lines: the report; its first line is the title."""
    note = f"<p>{omitted} more tensors that differ are not drawn.</p>" if omitted else ""
    return _PAGE.substitute(
        title=escape(lines[0] if lines else ""),
        verdict="equal" if equal else "differ",
        report=escape("\n".join(lines)),
        sections="\n".join(sections),
        omitted=note,
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
