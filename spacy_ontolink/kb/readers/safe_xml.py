"""XML, element by element; nothing outside the file is ever opened, and entities that unfold into more are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...errors import Errors, OntologyError
from .sources import Place, open_bytes

LANGUAGE, BASE = "{http://www.w3.org/XML/1998/namespace}lang", "{http://www.w3.org/XML/1998/namespace}base"
_MAX_ENTITY = 500


def check_start(path: Place, format: str) -> Any:
    """Look at the entities that are declared before the root element, and return that.

    Raises:
        OntologyError: The file does not begin as XML, or declares entities that refer to others or to files.
    """
    from lxml import etree

    with open_bytes(path) as file:
        try:
            _, root = next(iter(_parse(file, events=("start",), resolve_entities=False)))
        except (etree.XMLSyntaxError, StopIteration) as error:
            raise not_this(path, format, error) from error
        declared = root.getroottree().docinfo.internalDTD
        for entity in declared.iterentities() if declared is not None else ():
            content = entity.content or ""
            if not content or "&" in content or "%" in content or "<" in content or len(content) > _MAX_ENTITY:
                raise not_this(path, format, f"the XML entity '{entity.name}' is more than a plain abbreviation")
        return root


def elements(path: Place, format: str, tags: tuple[str, ...] = ()) -> Iterator[Any]:
    """Yield the elements of these names as they end, inner ones first; without names, those directly below the root.

    What lies directly below the root is emptied after it was yielded, and whatever came before it is let go.
    ``check_start`` must have passed the file. A name may be ``{namespace}*``.

    Raises:
        OntologyError: The file is not well-formed (with the line).
    """
    from lxml import etree

    with open_bytes(path) as file:
        # check_start has refused entities that refer to anything, so the rest are plain abbreviations.
        events = _parse(file, resolve_entities="internal", huge_tree=True, tag=tags or None)
        try:
            root = None
            for _, element in events:
                if root is None:
                    root = element.getroottree().getroot()
                below = element.getparent() is root
                if tags or below:
                    yield element
                if below:
                    element.clear()
                    while element.getprevious() is not None:
                        del root[0]
        except etree.XMLSyntaxError as error:
            raise not_this(path, format, error) from error


def not_this(path: Place, format: str, reason: object) -> OntologyError:
    """Make the error of a file that is not of this format, with the line if the reason has one."""
    line = getattr(reason, "lineno", None)
    reason = f"line {line}: {reason}" if line else reason or "it is empty"
    return OntologyError(Errors.NOT_THIS_FORMAT.format(path=path, format=format, reason=reason))


def _parse(file: BinaryIO, events: tuple[str, ...] = ("end",), **settings: Any) -> Any:
    from lxml import etree

    safe = {"load_dtd": False, "no_network": True, "remove_comments": True, "remove_pis": True}
    return etree.iterparse(file, events=events, **safe, **settings)
