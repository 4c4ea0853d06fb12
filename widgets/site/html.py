"""The page of the static site, from the template that the server uses."""

from __future__ import annotations

import json
import re
from typing import Any

from bokeh.document import Document
from bokeh.resources import Resources
from jinja2 import Environment
from panel.io.resources import Resources as PanelResources
from panel.io.resources import bundle_resources

from widgets import page
from widgets.card import read_static
from widgets.session import Session
from widgets.site.reader import add_roots

_MACROS = """{% macro embed(root) %}<div class="root" data-root="{{ root }}"></div>{% endmacro %}"""
# Written while the page is read, so that the projector's script comes before the cards are drawn.
_PRESENT_SCRIPT = (
    "if (servingLayout.mode === 'present' && servingSite.present.js) "
    'document.write(`<script src="${servingSite.present.js}"><\\/script>`);'
)
_SOURCE = re.compile(r'src="(static/[^"?]+)')


def script_tags() -> str:
    """The scripts of Bokeh and Panel, as a server names them, with addresses beside the page."""
    session = Session(page.section_classes(), "", "light")
    session.bring(next(iter(session.models)))
    document = Document()
    add_roots(document, session)
    resources = PanelResources.from_bokeh(Resources(mode="server", root_url=""))
    tags = str(bundle_resources(document.roots, resources)._render_js())
    return tags.replace('src="/', 'src="')


def script_files(tags: str) -> list[str]:
    """The files that script tags name."""
    return _SOURCE.findall(tags)


def index(config: dict[str, Any], tags: str, present: dict[str, str]) -> str:
    """The whole page.

    `config` is what `static/site.js` works with, `present` the files that a projector needs.
    """
    environment = Environment()
    widgets = {p.slug: p.widget for p in page.rendered_pages() if p.widget}
    variables = page.variables(Session(page.section_classes(), "", "light"))
    variables["page_css"] += "\n" + read_static("site.css")
    known = f"window.servingSite = {_inline({'sections': widgets, 'present': present})};\n"
    site = f"window.servingConfig = {_inline(config)};\n{read_static('site.js')}"
    return environment.from_string(read_static("page.html")).render(
        macros=environment.from_string(_MACROS),
        roots={name: name for name in ("scenario", *map(page.root_name, widgets))},
        head_script=known + read_static("site-head.js"),
        # Stands before Bokeh's scripts, which take a while to read.
        bokeh_css=f"<script>{read_static('site-arrange.js')}</script>",
        bokeh_js=tags,
        plot_script=f"<script>{_PRESENT_SCRIPT}</script>\n<script>{site}</script>",
        **variables,
    )


def present_files() -> dict[str, str]:
    """What the page reads beyond its own script and style sheet when it is presented."""
    variables = page.variables(Session(page.section_classes(), "present=1", "light"))
    return {kind: variables.get(f"present_{kind}", "") for kind in ("css", "js")}


def _inline(value: Any) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(value).replace("<", "\\u003c")
