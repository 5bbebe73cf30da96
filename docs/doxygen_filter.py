"""Turns the comments of the public headers into comments for Doxygen: its INPUT_FILTER.

The comments are formatted by hand, as plain text with tables and aligned lists. Their first
paragraph becomes a paragraph of the site; the rest is kept as it is. If several declarations share
a comment, the others refer to the first one.
"""

import re
import sys

COMMENT = re.compile(r"/\*(?!\*)\s*(.*?)\s*\*/", re.DOTALL)


def body(comment):
    """Returns the lines of a comment without their asterisks."""
    return [re.sub(r"^ ?\* ?", "", line) for line in comment.split("\n")]


def paragraph(lines):
    """Returns a paragraph of reStructuredText whose only markup is code."""
    text = re.sub(r"([*|\\])", r"\\\1", " ".join(lines))
    text = re.sub(r"(\w)_(?=\W|$)", r"\1\\_", text)
    return text.replace("`", "``")


def documentation(lines):
    """Returns the lines of a comment as reStructuredText."""
    first = next((i for i, line in enumerate(lines) if not line or line.startswith(" ")), None)
    returns = next((i for i, line in enumerate(lines) if re.match(r"Returns? ", line)), None)
    cut = min((i for i in (first, returns) if i is not None), default=len(lines))
    head, rest = lines[:cut], lines[cut:]
    result = ["\\literal", paragraph(head), ""]
    while rest and not rest[0].strip():
        rest.pop(0)
    if any(not line or line.startswith((" ", "|")) for line in rest):
        result += [".. code-block:: none", ""] + [f"   {line}".rstrip() for line in rest] + [""]
    elif rest:
        result += [paragraph(rest), ""]
    return "\n".join(result) + "\\endliteral"


def section(lines):
    """Returns the comment at the head of a section as the start of a group of declarations."""
    title, _, rest = lines[0].partition(". ")
    lines = ([rest] if rest else []) + lines[1:]
    while lines and not lines[0].strip():
        lines.pop(0)
    name = title.lower().replace(" ", "_").replace("-", "_")
    text = documentation(lines) if lines else ""
    return f"/** @}} */\n/** \\defgroup {name} {title}\n{text}\n@{{ */"


def convert(header):
    """Returns a header with comments of Doxygen."""

    def replace(match):
        lines = body(match.group(1))
        line = header[header.rfind("\n", 0, match.start()) + 1 : match.start()]
        if line.strip():  # past the end of an enumerator, a member or a macro
            return f"/**< {' '.join(part.strip() for part in lines)} */"
        if lines[0].startswith("---"):
            return section(lines[1:-1])
        if lines[0].startswith("mlu_op"):
            return f"/** \\file\n{documentation(lines)} */"
        if re.match(r"\n(\n|#)", header[match.end() :]):
            return match.group(0)
        return f"/** {documentation(lines)} */"

    text = COMMENT.sub(replace, header)
    # The first section has no predecessor to end; the last one ends with the declarations.
    text = text.replace("/** @} */\n", "", 1)
    text = re.sub(r"(\n#if [^\n]*\n#pragma GCC visibility pop)", r"\n/** @} */\n\1", text)
    # A declaration that directly follows another one has no comment of its own.
    first = r"(\b(mluOp\w+)\([^;]*\);\n)"
    next_one = r"((?:mluOpStatus_t|void|const char\*) MLUOP_WIN_API\s)"
    return re.sub(first + next_one, r"\1/** See \2. */\n\3", text)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        sys.stdout.write(convert(file.read()))
