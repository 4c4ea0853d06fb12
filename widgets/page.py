"""The page: prose from content/, sections from their modules, one Jinja template of our own."""

from __future__ import annotations

import base64
import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote_from_bytes

import panel as pn
from panel.io.resources import LOCAL_DIST

from widgets import prose, theme
from widgets.card import STATIC, component_script, read_static
from widgets.glossary import glossary_html, link_terms, load_glossary
from widgets.present import in_units
from widgets.scenario import ScenarioModel
from widgets.session import Session

log = logging.getLogger(__name__)

TITLE = "Serving language models from scratch"
PAGE_SCRIPTS = ("charts.js", "page.js")
PRESENT_SCRIPTS = ("present-scale.js", "present.js")


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """One section as the template needs it; number 0 stands for none."""

    number: int
    slug: str
    title: str
    short: str
    question: str
    widget: str
    before: str
    after: str


@lru_cache(maxsize=1)
def section_classes() -> dict[str, tuple[type, type]]:
    """Slug → (view-model, view) of every page that names a widget."""
    return {
        page.slug: importlib.import_module(f"widgets.{page.widget}").SECTION
        for page in prose.load_pages()
        if page.widget
    }


@lru_cache(maxsize=1)
def rendered_pages() -> tuple[RenderedPage, ...]:
    """The prose of every section, rendered once per server at the default scenario."""
    renderer = prose.Renderer(prose.load_sources())
    terms = load_glossary(prose.CONTENT / "glossary.md")
    scenario = ScenarioModel().scenario
    rendered = []
    for page in prose.load_pages():
        numbers: dict[str, str] = {}
        if page.widget:
            model_class, _ = section_classes()[page.slug]
            numbers = model_class(scenario).prose()
        if page.numbers:
            numbers = importlib.import_module(f"widgets.{page.numbers}").prose(scenario)
        seen: set[str] = set()
        before = link_terms(renderer.html(page.before, numbers, page.slug), terms, seen)
        after = link_terms(renderer.html(page.after, numbers, page.slug), terms, seen)
        if page.slug == "sources":
            after += renderer.sources_html()
        rendered.append(
            RenderedPage(
                page.number,
                page.slug,
                page.title,
                page.short,
                page.question,
                page.widget,
                before,
                after,
            )
        )
    glossary = glossary_html(terms)
    rendered.append(RenderedPage(0, "glossary", "Glossary", "Glossary", "", "", glossary, ""))
    return tuple(rendered)


@lru_cache(maxsize=1)
def page_css() -> str:
    """The page's stylesheet with both themes' colours and the maths font inside."""
    font = base64.b64encode((STATIC / "fonts" / "serving-math.woff2").read_bytes()).decode()
    face = (
        '@font-face{font-family:"Serving Math";font-display:swap;'
        f'src:url("data:font/woff2;base64,{font}") format("woff2")}}'
    )
    return f"{theme.css_variables()}\n{read_static('page.css')}\n{face}"


def build(query: bytes, cookies: dict[str, str]) -> pn.Template:
    """One reader's page for the query string of the address."""
    remembered = cookies.get("theme", "light")
    start = cast("theme.Theme", remembered if remembered in theme.THEMES else "light")
    session = Session(section_classes(), query, start)
    session.bring(session.layout.section or next(iter(session.models)))
    template = with_roots(session, read_static("page.html"))
    for name, value in variables(session).items():
        template.add_variable(name, value)
    return template


def with_roots(session: Session, html: str) -> pn.Template:
    """A template with the bar and the place of each section that the layout shows."""
    template = pn.Template(_compiled(html))
    template.add_panel("scenario", session.bar, tags=[session.mark])
    layout = session.layout
    for slug, box in session.boxes.items():
        if layout.mode != "embed" or slug == layout.section:
            template.add_panel(root_name(slug), box)
    return template


@lru_cache
def _compiled(html: str) -> Any:
    """A template's source ready to render: compiled once, not for every reader."""
    return pn.Template(html).template


def root_name(slug: str) -> str:
    """What the template calls the place of a section."""
    return slug.replace("-", "_")


def variables(session: Session) -> dict[str, Any]:
    """What the template needs besides its roots."""
    layout = session.layout
    presenting = layout.mode == "present"
    pages = [
        page
        for page in rendered_pages()
        if layout.mode == "page" or (page.widget if presenting else page.slug == layout.section)
    ]
    return {
        "page_title": TITLE,
        "page_css": page_css(),
        "page_js": "\n".join(map(read_static, PAGE_SCRIPTS)),
        "component_script": component_script(),
        "present_css": in_units(read_static("present.css")) if presenting else "",
        "present_js": "\n".join(map(read_static, PRESENT_SCRIPTS)) if presenting else "",
        "pages": pages,
        "layout": layout,
        "theme": session.theme,
    }


def serve(prepare: Callable[[], None]) -> None:
    """Serve one reader: the page, or a plain message where the page cannot be built.

    `prepare` sets the server up first; a setting that it refuses gives the message as well.
    """
    try:
        prepare()
        query = pn.state.curdoc.session_context.request.arguments if pn.state.curdoc else {}
        if pn.state.curdoc:
            # Panel says this only when it renders the page. A session that the websocket makes anew
            # (after a restart, or on another process) would ask a host outside for its styles.
            pn.state.curdoc.template_variables.setdefault("dist_url", LOCAL_DIST)
        template = build(_raw_query(query), dict(pn.state.cookies))
        # Frozen, the document counts its models once instead of at every root that is added.
        with pn.io.hold(freeze=True):
            template.servable(title=TITLE)
    except Exception:
        log.exception("the page could not be built")
        pn.pane.HTML(
            "<h1>This page could not be built</h1><p>The fault is on the server, and its log says "
            "what it is. Opening the address without what follows “?” usually works.</p>"
        ).servable(title=TITLE)


def _raw_query(arguments: dict[str, list[bytes]]) -> bytes:
    """The query string again, from what the server parsed; invalid UTF-8 stays visible.

    Tornado hands names over as latin-1 text and values as bytes.
    """
    return "&".join(
        f"{quote_from_bytes(name.encode('latin-1'))}={quote_from_bytes(value)}"
        for name, values in arguments.items()
        for value in values
    ).encode()
