"""The page at ``/docs``: made of the OpenAPI description, without scripts and without anything from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from ..pages import page_head

_STYLE = """body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 54rem; margin: 2rem auto; }
body { padding: 0 1rem; }
pre { background: #f4f4f4; padding: .6rem; overflow-x: auto; }
td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } pre { background: #262626; } }
"""
_ABOUT = '<p>{about} Version {version}. The same for programs: <a href="openapi.json">openapi.json</a></p>\n'


def page(api: Mapping[str, Any], base: str) -> str:
    """Return the page of an OpenAPI description; ``base`` is the address to ask at."""
    info = api["info"]
    about = _ABOUT.format(about=escape(info["description"]), version=info["version"])
    parts = [page_head(info["title"], _STYLE), about]
    for path, operations in api["paths"].items():
        for verb, operation in operations.items():
            parts.append(f"<h2><code>{verb.upper()} {escape(path)}</code></h2>\n")
            parts.append(f"<p>{escape(operation.get('description', ''))}</p>\n")
            parts.append(_request(api, base.rstrip("/") + path, operation))
            parts.append(_responses(operation))
    schemas = api.get("components", {}).get("schemas", {})
    for name, schema in schemas.items():
        if "properties" in schema and "ValidationError" not in name:
            parts.append(f"<h3 id={name}>{name}</h3>\n<p>{escape(schema.get('description', ''))}</p>\n")
            parts.append(_table([(key, _kind(about)) for key, about in schema["properties"].items()]))
    return "".join([*parts, "</body>\n</html>\n"])


def _request(api: Mapping[str, Any], url: str, operation: Mapping[str, Any]) -> str:
    try:
        name = _name(operation["requestBody"]["content"]["application/json"]["schema"])
    except KeyError:
        return ""
    example = json.dumps(api["components"]["schemas"][name].get("example", {}), ensure_ascii=False)
    curl = f"curl -H 'Content-Type: application/json' -d '{example}' {url}"
    return f'<p>Takes a <a href="#{name}">{name}</a>:</p>\n<pre>{escape(curl)}</pre>\n'


def _responses(operation: Mapping[str, Any]) -> str:
    rows = []
    for status, about in operation["responses"].items():
        schema = about.get("content", {}).get("application/json", {}).get("schema", {})
        name = _name(schema) if schema else ""
        rows.append((status, f'<a href="#{name}">{name}</a>' if name else escape(about.get("description", ""))))
    return _table(rows)


def _kind(about: Mapping[str, Any]) -> str:
    kinds = [_type(one) for one in about.get("anyOf", [about])]
    return " · ".join(part for part in (" or ".join(filter(None, kinds)), escape(about.get("description", ""))) if part)


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f'<a href="#{_name(schema)}">{_name(schema)}</a>'
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    return str(schema.get("type", ""))


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _table(rows: list[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><td><code>{escape(key)}</code></td><td>{value}</td></tr>\n" for key, value in rows)
    return f"<table>\n{cells}</table>\n"
