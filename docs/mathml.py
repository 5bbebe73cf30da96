"""Formulas as MathML, which browsers render without scripts, for Sphinx's HTML builder."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def render(translator, node, as_block):
    try:
        translator.body.append(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        logger.warning("%s in %r", error, node.astext(), location=node)
    raise nodes.SkipNode


def inline(translator, node):
    render(translator, node, as_block=False)


def block(translator, node):
    render(translator, node, as_block=True)
