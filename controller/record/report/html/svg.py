"""Figures drawn by matplotlib as SVG that belongs to the page: its colours are CSS variables, its letters are text.

matplotlib writes fixed colours. So the plots are drawn in stand-ins, which are colours that nothing else uses, and each
stand-in becomes `var(--name)` afterwards. The style sheet of the page or of the picture sets these variables, for light
and for dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

NAMES = ("ink", "ink-2", "grid", "surface", "accent", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7")
STAND_INS = {name: f"#fe{number:02x}a7" for number, name in enumerate(NAMES)}
STYLE = {
    "svg.fonttype": "none",
    "font.size": 11.0,
    "axes.edgecolor": STAND_INS["grid"],
    "axes.labelcolor": STAND_INS["ink-2"],
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.linewidth": 1.0,
    "xtick.color": STAND_INS["grid"],
    "ytick.color": STAND_INS["grid"],
    "xtick.labelcolor": STAND_INS["ink-2"],
    "ytick.labelcolor": STAND_INS["ink-2"],
    "text.color": STAND_INS["ink"],
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": STAND_INS["grid"],
    "grid.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "ytick.left": False,
    "legend.frameon": False,
    "legend.borderpad": 0.0,
    "legend.fontsize": 10.5,
    "axes.labelsize": 10.5,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "path.simplify": True,
    "svg.hashsalt": "centavo",
}
_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def colour(number: int) -> str:
    """Returns the stand-in of the series with this number. Series beyond the eighth share one."""
    return STAND_INS[f"c{min(number, 7)}"]


def to_svg(figure: Figure, name: str, label: str) -> str:
    """Returns the figure as an SVG element with CSS variables for colours.

    `name` keeps the ids of the figure apart from those of other figures.
    """
    out = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.S)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = re.sub(r'font: ([\d.]+)px [^;"]*', r"font-size: \1px", text)
    text = re.sub(r"\n\s*", "\n", text)
    for variable, stand_in in STAND_INS.items():
        text = text.replace(stand_in, f"var(--{variable})")
    width, height = figure.get_size_inches() * 72
    head = (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{_attribute(label)}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return head + text[text.index(">") + 1 :]


def write_picture(svg: str, file: Path, light: Mapping[str, str], dark: Mapping[str, str]) -> None:
    """Writes an SVG file of its own, with colours for light and for dark: for a README."""
    style = (
        f"<style>svg{{{_variables(light)}font-family:{_FONT}}}"
        f"@media(prefers-color-scheme:dark){{svg{{{_variables(dark)}}}}}</style>"
    )
    head = svg.index(">") + 1
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(svg[:head] + style + svg[head:], encoding="utf-8")


def _variables(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
