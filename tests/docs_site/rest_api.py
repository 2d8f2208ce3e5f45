"""The pages of the REST API, made of its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from netkv.api.app import openapi
from tests.docs_site.markdown import escaped, table

Schema = Mapping[str, Any]
MODELS = "rest-api-models.md"
_METHODS = ("get", "post", "put", "patch", "delete")


@cache
def description() -> dict[str, Any]:
    """The OpenAPI document."""
    return openapi()


def operations() -> str:
    """The page of the operations, by subject."""
    document = description()
    parts = [
        "# The REST API\n\n"
        "Every operation, by subject; [api.md](../use/api.md) explains the API. The same is at "
        "`/docs` of a server that runs, where requests can be tried, and as OpenAPI document at "
        f"`/api/v1/openapi.json`. Documents are in [Models]({MODELS}).\n"
    ]
    for tag in document["tags"]:
        parts.append(f"## {tag['name'].capitalize()}\n\n{escaped(tag['description'])}\n")
        for path, methods in document["paths"].items():
            for method in _METHODS:
                operation = methods.get(method)
                if operation and tag["name"] in operation["tags"]:
                    parts.append(_operation(path, method, operation))
    return "\n".join(parts)


def models() -> str:
    """The page of the models, in alphabetical order."""
    schemas: Mapping[str, Schema] = description()["components"]["schemas"]
    head = "# Models of the REST API\n\nThe documents of requests and answers.\n\n"
    return head + "\n".join(_model(name, schemas[name]) for name in sorted(schemas))


def _operation(path: str, method: str, operation: Schema) -> str:
    parts = [f"### {method.upper()} `{path}`\n", f"{escaped(operation.get('description', ''))}\n"]
    parameters = operation.get("parameters", [])
    if parameters:
        rows = [
            (
                f"`{each['name']}`",
                each["in"],
                _type(each["schema"]),
                _default(each["schema"], each.get("required", False)),
                escaped(each.get("description", "")),
            )
            for each in parameters
        ]
        parts.append(table(["parameter", "in", "type", "default", "meaning"], rows))
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"Body: {_type(content.get('schema', {}))} (`{media}`).\n")
    answers = [
        (status, _answer(answer.get("content", {})), escaped(answer.get("description", "")))
        for status, answer in operation["responses"].items()
    ]
    parts.append(table(["status", "answer", "meaning"], answers))
    return "\n".join(parts)


def _answer(content: Mapping[str, Schema]) -> str:
    return ", ".join(
        f"{_type(each['schema'])} (`{media}`)" if each.get("schema") else f"`{media}`"
        for media, each in content.items()
    )


def _model(name: str, schema: Schema) -> str:
    parts = [f"## {name}\n", f"{escaped(schema.get('description', ''))}\n"]
    fields: Mapping[str, Schema] = schema.get("properties", {})
    if not fields:
        return "\n".join([*parts, f"{_type(schema)}.\n"])
    needed = schema.get("required", [])
    rows = [
        (
            f"`{field}`",
            _type(about),
            _default(about, field in needed),
            escaped(about.get("description", "")),
        )
        for field, about in fields.items()
    ]
    return "\n".join([*parts, table(["field", "type", "default", "meaning"], rows)])


def _default(schema: Schema, required: bool) -> str:
    if required:
        return "required"
    return f"`{schema['default']!r}`" if schema.get("default") is not None else ""


def _type(schema: Schema) -> str:
    """A type in words, with links to models."""
    return " or ".join(dict.fromkeys(_types(schema))) or "anything"


def _types(schema: Schema) -> Iterator[str]:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        yield f"[{name}]({MODELS}#{name.lower()})"
    elif alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        for each in alternatives:
            yield from _types(each)
    elif "enum" in schema:
        yield from (f"`{value}`" for value in schema["enum"])
    elif "const" in schema:
        yield f"`{schema['const']}`"
    elif schema.get("type") == "array":
        yield f"array of {_type(schema.get('items', {}))}"
    elif schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        yield f"object of {_type(schema['additionalProperties'])}"
    elif "type" in schema:
        found = schema["type"]
        yield from [found] if isinstance(found, str) else found
