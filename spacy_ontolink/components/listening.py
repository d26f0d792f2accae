"""How a stage finds its retriever: spaCy's listener protocol, by which ``tok2vec`` is shared, without a model.

spaCy calls ``find_listeners`` of every component that has these members with each component after it, whenever the
pipeline changes. The nearest retriever before a stage comes last, and wins; a named ``upstream`` waits for its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, Errors

if TYPE_CHECKING:
    from spacy.language import Language

ANY = "*"
"""The ``upstream`` of a stage that takes the nearest retriever before it."""


class Provider:
    """The side of the retriever: offers itself to the stages after it."""

    model: Any = None

    def __init__(self) -> None:
        self.listeners: list[Any] = []
        self.listener_map: dict[str, list[Any]] = {}

    @property
    def listening_components(self) -> list[str]:
        """Names of the stages that use this retriever."""
        return list(self.listener_map)

    @property
    def stages(self) -> list[Listener]:
        """The stages that use this retriever, in the order of the pipeline."""
        return [stage for stages in self.listener_map.values() for stage in stages]

    def add_listener(self, listener: Any, component_name: str) -> None:
        """Note a stage that uses this retriever."""
        self.listener_map[component_name] = [listener]

    def remove_listener(self, listener: Any, component_name: str) -> bool:
        """Forget a stage; return whether it was known."""
        return self.listener_map.pop(component_name, None) is not None

    def find_listeners(self, component: Any) -> None:
        """Offer this retriever to a component after it."""
        if isinstance(component, Listener) and component.upstream in (ANY, self.name):  # type: ignore[attr-defined]
            if component.provider is not None:
                component.provider.remove_listener(component, component.name)
            component.provider = self
            self.add_listener(component, component.name)


class Listener:
    """The side of a stage: keeps the retriever that was offered to it last."""

    name: str
    provider: Any = None
    _variables: set[str]

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream

    @property
    def reads_reformulations(self) -> bool:
        """Whether the stage reads the reformulations of a mention, so that the retriever has to ask for them."""
        return False

    @property
    def decides(self) -> bool:
        """Whether the stage has the last word, so that none of its chain may follow."""
        return False

    def needs(self, view: str) -> bool:
        """Whether the stage reads the scores of this view; if a later one does not, the view need not be computed."""
        return True

    def find_provider(self, nlp: Language | None) -> Any:
        """Return the retriever.

        Raises:
            ConfigError: There is none before the stage, or none of that name; the message has those there are.
        """
        if self.provider is None:
            pipes = nlp.components if nlp is not None else []
            known = [name for name, component in pipes if isinstance(component, Provider)]
            which = "" if self.upstream == ANY else f" named '{self.upstream}'"
            raise ConfigError(Errors.NO_UPSTREAM.format(name=self.name, which=which, known=", ".join(known) or "none"))
        return self.provider
