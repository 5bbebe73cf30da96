"""The two languages of the site: a navigation for each, and a search that splits Chinese text."""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.environment.adapters.toctree import TocTree
from sphinx.search.en import SearchEnglish

CHINESE_ROOT = "docs/zh/index"
RUN = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")


def is_chinese(page):
    return page == "README.zh" or page.startswith("docs/zh/")


def navigation(app, page, template, context, doctree):
    """Gives each page the table of contents of its language, and a Chinese one its language.

    The Chinese table also lists the pages that exist in English only.
    """
    chinese = is_chinese(page)
    root = CHINESE_ROOT if chinese else app.config.root_doc

    def resolved(node, maxdepth, **options):
        if chinese or CHINESE_ROOT not in node["includefiles"]:
            return TocTree(app.env).resolve(page, app.builder, node, maxdepth=maxdepth, **options)
        # One entry, which is not the parent of the English pages of the Chinese table.
        entry = TocTree(app.env).resolve(page, app.builder, node, maxdepth=1, **options)
        for element in entry.findall(nodes.Element):
            element["classes"] = [name for name in element["classes"] if name != "current"]
        return entry

    def toctree(**options):
        contents, *others = (
            resolved(node, **options)
            for node in app.env.get_doctree(root).findall(addnodes.toctree)
        )
        for other in others:
            contents.extend(other.children)
        return app.builder.render_partial(contents)["fragment"]

    context["toctree"] = toctree
    if chinese:
        context.update(language="zh-CN", master_doc=CHINESE_ROOT, root_doc=CHINESE_ROOT)


def split(text):
    """Returns the words of a text and, as Chinese has no spaces, pairs of Chinese characters."""
    words = []
    for run in RUN.findall(text):
        if re.match("[\u4e00-\u9fff]{3}", run):
            words += [run[i : i + 2] for i in range(len(run) - 1)]
        else:
            words.append(run)
    return words


class Search(SearchEnglish):
    """English words, and pairs of Chinese characters."""

    # The same as split(), without the characters that the template escapes.
    js_splitter_code = r"""
var splitQuery = function (query) {
  var runs = query.match(/[\u4e00-\u9fff]+|(?:(?![\u4e00-\u9fff])[\p{Letter}\p{Number}_])+/gu);
  return (runs || []).flatMap(function (run) {
    if (!run.match(/^[\u4e00-\u9fff]{3}/)) return [run];
    return Array.from(run.slice(1), function (next, i) { return run[i] + next; });
  });
};
"""

    def split(self, input):
        return split(input)


def setup(app):
    # Before the theme renders its navigation.
    app.connect("html-page-context", navigation, priority=400)
    app.add_search_language(Search)
