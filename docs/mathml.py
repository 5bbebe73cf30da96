"""Formulas of the pages as MathML, which browsers render without scripts: for Sphinx's HTML builder."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def inline(translator, node):
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(translator, node):
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode
