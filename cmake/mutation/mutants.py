"""Single-token mutants of a C++ source file, found by regular expressions in code formatted by clang-format.

Comments, strings, preprocessor lines, static_assert and HWY_UNROLL stay as they are. A regular expression does not
parse: some mutants do not compile, and run.py discards them.
"""

import re
from dataclasses import dataclass

# Operators with a space on both sides, which excludes pointers, references and template arguments.
_OPERATORS = {
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
    "<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="],
    "&&": ["||"], "||": ["&&"], "&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"],
    "+=": ["-="], "-=": ["+="],
}
_NAMES = {"begin": "end", "end": "begin", "min": "max", "max": "min", "true": "false", "false": "true"}

_SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|static_assert\([^;]*;|HWY_UNROLL\(\d+\)",
    re.DOTALL | re.MULTILINE)
_OPERATOR = re.compile(r"(?<= )(?:" + "|".join(sorted(map(re.escape, _OPERATORS), key=len, reverse=True)) + r")(?= )")
_NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'])")
_NAME = re.compile(r"(?<!std::)(?<!\w)(?:begin|end|true|false)(?!\w)|(?<=std::)(?:min|max)(?=\()")
# The steps of loops are left out: mutants without end give no verdict.
_INCREMENT = re.compile(r"(?:\+\+|--)(?=[\w.]+;)")
_STEP = re.compile(r"(?:\+\+|--)\w+\)|[+-]= [\w<>.:]+\) ")
_NOT = re.compile(r"!(?=[\w(])")
_ARGUMENTS = re.compile(r"(?<=[\w>]\()([\w.]+), ([\w.]+)(?=[,)])")
# A call, an assignment, or the statement that an if guards.
_STATEMENT = re.compile(
    r"(?<=\n)(?P<indent> +(?:if \([^\n]*\) )?)"
    r"(?P<statement>return[^;{}]*|continue|break|[\w.:>-]+\([^;{}]*\)|[\w.>\[\]-]+ [-+*|&]?= [^;{}]*);(?=\n)")


@dataclass(frozen=True)
class Mutant:
    file: str  # relative to the root of the project
    position: int
    before: str
    after: str

    def apply(self, text):
        return text[:self.position] + self.after + text[self.position + len(self.before):]

    def line_number(self, text):
        return text.count("\n", 0, self.position) + 1

    def lines(self, text):
        """The line that the mutant changes, before and after, without white space at both ends."""
        begin = text.rfind("\n", 0, self.position) + 1
        end = text.find("\n", self.position)
        mutated_end = text.find("\n", self.position + len(self.before)) + len(self.after) - len(self.before)
        return text[begin:end].strip(), self.apply(text)[begin:mutated_end].strip()


def _blank(text):
    """The text with spaces in place of what must not change: the same positions."""
    return _SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _removals(code):
    for match in _STATEMENT.finditer(code):
        statement = match["statement"]
        guarded = match["indent"].strip() != ""
        if statement.count("(") != statement.count(")"):
            continue
        # Without its last return, a function has no value.
        if statement.startswith("return ") and not guarded:
            continue
        yield match.start("statement"), statement, ""


def _replacements(code):
    for match in _OPERATOR.finditer(code):
        if _STEP.match(code, match.start()):
            continue
        for after in _OPERATORS[match.group()]:
            yield match.start(), match.group(), after
    for match in _NUMBER.finditer(code):
        value = int(match.group())
        for after in [value + 1] + ([value - 1] if value > 0 else []):
            yield match.start(), match.group(), str(after)
    for match in _NAME.finditer(code):
        yield match.start(), match.group(), _NAMES[match.group()]
    for match in _INCREMENT.finditer(code):
        yield match.start(), match.group(), "--" if match.group() == "++" else "++"
    for match in _NOT.finditer(code):
        yield match.start(), match.group(), ""
    for match in _ARGUMENTS.finditer(code):
        if match[1] != match[2]:
            yield match.start(), match.group(), f"{match[2]}, {match[1]}"


def mutants_of(file, text):
    code = _blank(text)
    found = [*_replacements(code), *_removals(code)]
    return [Mutant(file, position, text[position:position + len(before)], after)
            for position, before, after in sorted(set(found))]
