"""Formulas as MathML, which browsers draw themselves: no script, no font, no request."""

import re

from docutils import nodes
from docutils.utils.math import MathError, pick_math_environment
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
# Two digits after a fraction: LaTeX takes them one by one, the converter as one number.
DIGITS = re.compile(r"\\frac\s*(\d)\s*(\d)")
# Commands of LaTeX that the converter knows by another name only.
SAME = {r"\iff": r"\Leftrightarrow", r"\dots": r"\ldots"}


def convert(node, block):
    """Return the MathML of a formula; what cannot be converted is a warning, and so an error."""
    tex = node.astext().strip()
    for command, known in SAME.items():
        tex = re.sub(re.escape(command) + r"(?![A-Za-z])", lambda _, known=known: known, tex)
    tex = DIGITS.sub(r"\\frac{\1}{\2}", tex)
    if block and pick_math_environment(tex).startswith("align"):
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    try:
        return tex2mathml(tex, as_block=block)
    except MathError as error:
        logger.warning("%s: %s", error, tex, location=node)
        return f"<code>{nodes.unescape(tex)}</code>"


def inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(f'<span class="formula">{convert(node, block=False)}</span>')
    raise nodes.SkipNode


def display(writer, node):
    """Write a formula on lines of its own, with its number if it has one."""
    number = ""
    if node["number"]:
        number = f'<span class="eqno">({get_node_equation_number(writer, node)})</span>'
    writer.body.append(writer.starttag(node, "div", CLASS="math notranslate nohighlight"))
    writer.body.append(f"{number}{convert(node, block=True)}</div>")
    raise nodes.SkipNode


def setup(app):
    """Tell sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
