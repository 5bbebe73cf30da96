"""The sections Args, Returns, Raises and Attributes of docstrings as field lists, for autodoc.

sphinx.ext.napoleon would take the text of Returns up to the first colon as a type, also inside a
sentence or a literal, and * and name_ as markup: indice_pairs, nms_match and others do not build.
"""

import re

FIELDS = {
    "Args": ("param", re.compile(r"([\w\\*, ]+): ")),
    "Attributes": ("ivar", re.compile(r"([\w, ]+): ")),
    "Raises": ("raises", re.compile(r"([\w., ]+): ")),
    "Returns": ("returns", None),
    "Yields": ("yields", None),
}


CODE = re.compile(r"(``.*?``|`.*?`)")


def escape(line):
    """Returns a line whose asterisks and trailing underscores outside of code are as they are."""
    parts = CODE.split(line)
    # The colon after "file" is escaped, too: Sphinx would take it for an address.
    parts[::2] = [re.sub(r"(\*|_(?=\W|$)|(?<=file):)", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def items(lines):
    """Returns the items of a section: a line that is indented more continues the one above."""
    found = []
    for line in lines:
        if line.startswith(" ") and found:
            found[-1] += " " + line.strip()
        elif line:
            found.append(line)
    return found


def fields(section, lines):
    """Returns the field list of a section."""
    field, pattern = FIELDS[section]
    found = items(lines)
    if pattern is None:
        names = [re.match(r"\w+: ", item) for item in found]
        if len(found) > 1 and all(names):
            found = [f"**{item.replace(': ', '** – ', 1)}" for item in found]
            return [f":{field}:", ""] + [f"    - {item}" for item in found] + [""]
        return [f":{field}: {' '.join(found)}", ""]
    result = []
    for item in found:
        name = pattern.match(item)
        rest = item[name.end() :] if name else item
        # Without a space: of "a b", autodoc takes a as the type of b.
        names = name.group(1).replace(", ", ",") if name else ""
        result.append(f":{field} {names}: {rest}")
    return result + [""]


def process(app, what, name, obj, options, lines):
    """Replaces the sections of a docstring, in place."""
    lines[:] = [escape(line) for line in lines]
    result, i = [], 0
    while i < len(lines):
        section = lines[i].removesuffix(":")
        if lines[i].endswith(":") and section in FIELDS:
            body = []
            i += 1
            while i < len(lines) and (not lines[i] or lines[i].startswith(" ")):
                body.append(lines[i][4:])
                i += 1
            result += fields(section, body)
        else:
            result.append(lines[i])
            i += 1
    lines[:] = result
