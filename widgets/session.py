"""One reader's page: the scenario, the sections, and the state that a link carries."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import panel as pn

from widgets.bar import bar_values, found_in_config
from widgets.base import Job, SectionModel
from widgets.layout import LAYOUT_NAMES, read_layout, refuse_locked
from widgets.present import bar_class
from widgets.scenario import DEFAULTS, ScenarioModel
from widgets.section import UNEXPECTED, SectionView
from widgets.share import format_state, parse_query, parse_state
from widgets.theme import THEMES, Theme

log = logging.getLogger(__name__)


class Session:
    """Owns the scenario and hands it to every section; sections never meet one another.

    Every section has its inputs from the start, because a link carries them. Its card, and what
    that shows, are made when the reader comes near (`bring`): a page costs a server no more than
    what is read of it. `cell` is for a notebook: an embed without a page around it.
    """

    def __init__(
        self,
        sections: Mapping[str, type],
        query: str | bytes,
        theme: Theme,
        *,
        cell: bool = False,
    ) -> None:
        self.model = ScenarioModel()
        # A page that reconnects recognises its own session by it, and another one that has taken
        # its place: ids of models repeat from one run of a server to the next.
        self.mark = f"session-{secrets.token_hex(8)}"
        pairs, problems = parse_query(query)
        widgets = {slug: model.__module__.split(".")[-1] for slug, (model, _) in sections.items()}
        lockable = [*DEFAULTS, *(n for model, _ in sections.values() for n in model.input_names())]
        self.layout, wrong = read_layout(pairs, widgets, lockable)
        problems += wrong
        if cell and self.layout.mode == "embed":
            self.layout = replace(self.layout, mode="cell")
        self.theme: Theme = cast("Theme", self.layout.theme or theme)
        self._sections = sections
        # What “reset” goes back to: where a lecturer or a course page started from.
        self._start = {} if self.layout.mode == "page" else pairs
        self.models: dict[str, SectionModel] = {
            slug: model_class(self.model.scenario, active=False)
            for slug, (model_class, _) in sections.items()
        }
        self.views: dict[str, SectionView] = {}
        self.boxes = {slug: pn.Column(sizing_mode="stretch_width") for slug in sections}
        notices = problems + self._restore(pairs)
        state = {"theme": self.theme, "notices": notices}
        self.bar = bar_class(self.layout)(self.layout, state=state)
        self.bar.on_msg(lambda event: self.receive(event.data))
        self._sync()

    def bring(self, slug: str) -> SectionView:
        """Put a section's card and charts into its box, once."""
        if slug not in self.views:
            model = self.models[slug]
            # A job that follows a first result waits for the card, which can show its progress.
            waiting: list[Job | None] = []
            model.runner = waiting.append
            model.active = True
            view = self._sections[slug][1](model, self.model, self.theme, self.layout)
            view.on_change = self._changed
            view.query = lambda: self.query(slug)
            view.build()
            self.views[slug] = view
            self.boxes[slug].append(view.card)
            if waiting and waiting[-1] is not None:
                model.runner(waiting[-1])
        return self.views[slug]

    def receive(self, message: Any) -> None:
        """Carry out one message of the bar; a refusal is shown and changes nothing."""
        handlers: Mapping[str, Callable[[Any], None]] = {
            "set": self._set,
            "config": self._config,
            "theme": self._set_theme,
            "query": self._load,
            "reset": lambda _: self._take_over(self._start, []),
            "dismiss": self._dismiss,
            "near": self._near,
            "again": lambda _: self._again(),
        }
        if not isinstance(message, dict) or len(message) != 1:
            return
        ((kind, body),) = message.items()
        if kind not in handlers:
            return
        try:
            with pn.io.hold():
                handlers[kind](body)
        except ValueError as error:
            self._notify([str(error)])
        except Exception:
            log.exception("the scenario bar failed on %s", kind)
            self._notify([UNEXPECTED])

    def query(self, section: str = "") -> str:
        """The present state as a query string: only what differs from the defaults.

        With a section, of the scenario and that section alone.
        """
        values = self.model.link_values()
        defaults: dict[str, Any] = dict(DEFAULTS)
        for model in [self.models[section]] if section else self.models.values():
            values.update(model.link_values())
            defaults.update(model.defaults())
        return format_state(values, defaults)

    def _restore(self, pairs: Mapping[str, str]) -> list[str]:
        """Read a link into the models, scenario first; returns what was left out and why."""
        own = set(LAYOUT_NAMES)
        readers = self.model.readers()
        section_names = {name for model in self.models.values() for name in model.linked_names()}
        mine = {k: v for k, v in pairs.items() if k not in own | section_names}
        values, problems = parse_state(mine, readers)
        try:
            problems += self.model.restore(values)
        except ValueError as error:
            problems.append(f"The link's scenario was left out: {error}.")
        for model in self.models.values():
            model.scenario = self.model.scenario
            readers = model.readers()
            chosen, wrong = parse_state({k: v for k, v in pairs.items() if k in readers}, readers)
            problems += wrong
            try:
                model.apply({**model.defaults(), **chosen})
            except ValueError as error:
                problems.append(f"A part of the link was left out: {error}.")
        return problems

    def _set(self, body: Any) -> None:
        if not isinstance(body, dict) or not body:
            raise ValueError("a change must name a choice and its value")
        refuse_locked(self.layout.locked, body)
        self._notify(self.model.apply(body))
        self._sync()

    def _config(self, body: Any) -> None:
        refuse_locked(self.layout.locked, ["model"])
        text, name = str(body.get("text", "")), str(body.get("name", ""))
        try:
            notes = self.model.adopt_config(text, name.removesuffix(".json"))
        except ValueError as error:
            raise ValueError(f"{name or 'The file'} was not taken: {error}") from error
        self._notify(notes)
        self._sync()

    def _set_theme(self, name: Any) -> None:
        if name not in THEMES:
            raise ValueError(f"theme must be one of {', '.join(THEMES)}, got {name}")
        self.theme = name
        self.bar.show(theme=name)
        for view in self.views.values():
            view.apply_theme(name)

    def _load(self, query: Any) -> None:
        """The reader went back or forward: take over the state of the address shown now."""
        pairs, problems = parse_query(str(query))
        # An address is no way around a lock: what is locked stays as the embedding page has it.
        locked = self.layout.locked | ({"config"} if "model" in self.layout.locked else set())
        kept = {name: value for name, value in self._start.items() if name in locked}
        free = {name: value for name, value in pairs.items() if name not in locked}
        self._take_over({**free, **kept}, problems)

    def _take_over(self, pairs: Mapping[str, str], problems: list[str]) -> None:
        self._notify(problems + self._restore(pairs))
        self._sync()

    def _near(self, slug: Any) -> None:
        if slug in self.models:
            self.bring(slug)

    def _again(self) -> None:
        """The page has lost the connection and found it again: what it missed is sent once more."""
        self.bar.again()
        for view in self.views.values():
            view.again()

    def _dismiss(self, index: Any) -> None:
        notices = self.bar.state["notices"]
        if isinstance(index, int) and 0 <= index < len(notices):
            self.bar.show(notices=[text for i, text in enumerate(notices) if i != index])

    def _notify(self, notices: list[str]) -> None:
        self.bar.show(notices=notices, values=bar_values(self.model))
        self.bar.tell({"answered": True})

    def _changed(self, notes: list[str]) -> None:
        if notes:
            self._notify(notes)
        self._sync()

    def _sync(self) -> None:
        """Bring the bar and every section up to the present scenario."""
        for model in self.models.values():
            if model.scenario != self.model.scenario:
                model.scenario = self.model.scenario
        for view in self.views.values():
            view.show_values()
        self.bar.show(
            values=bar_values(self.model),
            summary=self.model.summary(),
            found=found_in_config(self.model),
            query=self.query(),
        )
