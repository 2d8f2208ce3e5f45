"""Changes of a scenario's text: an option is set or removed, and all other text stays as it is.

Comments, blank lines and the form of values that do not change are kept, so that a form and the
text beside it can be edited in turn. Block mappings and sequences are changed line by line; a value
in flow style (`{...}`, `[...]`) is written again as a whole.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from netkv import yaml_text
from netkv.errors import UsageError
from netkv.scenarios import loader, option_paths
from netkv.scenarios.model import Scenario
from netkv.scenarios.option_paths import Path, dotted

_INDENT = 2
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Change:
    """One change: the option at `path` gets `value`, or is removed."""

    path: Path
    value: Any = None
    remove: bool = False


def apply(text: str, changes: Sequence[Change], name: str) -> str:
    """The text with all changes, in order; raises `UsageError` for a path that cannot exist."""
    for change in changes:
        data = loader.parsed(text, name)
        if not change.path:
            raise UsageError("A change needs the path of an option.")
        if change.remove and not _exists(data, change.path):
            continue
        after, path = _changed(data, change)
        written = _removed(text, path, after) if change.remove else _written(text, path, after)
        text = kept(written, after, name)
    return text


def kept(text: str, data: dict[str, Any], name: str) -> str:
    """The text if it means this data; with anchors and the like it may not, and is written anew."""
    try:
        same = loader.parsed(text, name) == data
    except UsageError:
        same = False
    return text if same else _whole(data)


def assign(text: str, items: Sequence[str], name: str) -> str:
    """The text with `path=value` assignments, as `--set` makes them."""
    for item in items:
        data = loader.parsed(text, name)
        after = copy.deepcopy(data)
        path = loader.assign(after, item)
        # An assignment may also remove options, those of another alternative of its parent.
        path = next(
            path[:depth]
            for depth in range(len(path), 0, -1)
            if depth == 1 or _differ_only_at(data, after, path[:depth])
        )
        text = apply(text, [Change(path, _value(after, path))], name)
    return text


def assignments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str] | None:
    """`path=value` assignments that turn one scenario into the other; None if there are none."""
    found = list(_differences(dict(before), dict(after), ()))
    items = []
    for path, value in found:
        item = f"{dotted(path)}={flow(value)}"
        if option_paths.check(option_paths.parse(dotted(path))) is not None or "\n" in item:
            return None
        items.append(item)
    data = copy.deepcopy(dict(before))
    for item in items:
        try:
            loader.assign(data, item)
        except UsageError:
            return None
    return items if _needed(data) == _needed(after) else None


def sections(text: str) -> dict[str, str]:
    """The options at the top of a text in block style: name → its lines, with the comments before.

    The comments before the first option are under the empty name, and those at the end are left
    out. A text in flow style has no sections.
    """
    root = _compose(text)
    if not isinstance(root, MappingNode) or _is_flow(root):
        return {}
    start = root.start_mark.index
    found = {"": text[:start]}
    for key, value in root.value:
        end = _line_end(text, _end(text, value))
        found[str(key.value)] = f"{text[start:end].rstrip()}\n"
        start = end
    return found


def lines(text: str) -> dict[str, int]:
    """Path of each option in the text → its line, from 1."""
    return dict(_lines(_compose(text), ()))


def flow(value: Any) -> str:
    """A value in flow style, in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(str(k))}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return value if _is_plain(value) else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def _is_plain(text: str) -> bool:
    """Whether a text needs no quotation marks, in any place."""
    if not text or "\n" in text or text != text.strip():
        return False
    try:
        found = yaml_text.read(f"[{text}, {{{text}: 1}}]").data
    except yaml_text.YamlTextError:
        return False
    return bool(found == [text, {text: 1}])


def _changed(data: dict[str, Any], change: Change) -> tuple[dict[str, Any], Path]:
    """The data with a change, and the path that has changed.

    Missing parents are added. A parent that becomes empty is removed, and is what has changed.
    """
    after = copy.deepcopy(data)
    if change.remove:
        path = change.path
        while path:
            parent = _value(after, path[:-1])
            del parent[path[-1]]
            if parent or len(path) == 1 or isinstance(path[-2], int):
                break
            path = path[:-1]
        return after, path
    here: Any = after
    for depth, part in enumerate(change.path[:-1]):
        below = _child(here, part)
        if not isinstance(below, dict | list):
            below = [] if isinstance(change.path[depth + 1], int) else {}
            _put(here, part, below, change.path[: depth + 1])
        here = below
    _put(here, change.path[-1], change.value, change.path)
    return after, change.path


def _put(parent: Any, part: str | int, value: Any, path: Path) -> None:
    if isinstance(parent, dict):
        parent[str(part)] = value
    elif isinstance(part, int) and part < len(parent):
        parent[part] = value
    elif part == len(parent):
        parent.append(value)
    else:
        raise UsageError(f"'{dotted(path)}' does not exist: there are {len(parent)}.")


def _child(parent: Any, part: str | int) -> Any:
    if isinstance(parent, dict):
        return parent.get(str(part))
    if isinstance(parent, list) and isinstance(part, int) and part < len(parent):
        return parent[part]
    return None


def _exists(data: Any, path: Path) -> bool:
    for part in path:
        if isinstance(data, dict) and part in data:
            data = data[str(part)]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return False
    return True


def _value(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _differ_only_at(before: Any, after: Any, path: Path) -> bool:
    """Whether two documents are equal but for the option at a path."""
    first, second = copy.deepcopy(before), copy.deepcopy(after)
    for data in (first, second):
        parent = _value(data, path[:-1]) if _exists(data, path[:-1]) else {}
        if isinstance(parent, dict):
            parent.pop(path[-1], None)
        elif isinstance(path[-1], int) and path[-1] < len(parent):
            parent[path[-1]] = None
    return bool(first == second)


def _compose(text: str) -> Node:
    found: Node = YAML(typ="safe", pure=True).compose(text)
    return found


def _is_flow(node: Node) -> bool:
    return isinstance(node, CollectionNode) and bool(node.flow_style)


def _written(text: str, path: Path, after: dict[str, Any]) -> str:
    """The text with another value at a path; `after`: the data that it must have then."""
    parent = node = _compose(text)
    for depth, part in enumerate(path):
        below = _below(node, part)
        if _is_flow(node) or isinstance(node, ScalarNode):
            return _replaced(text, node, parent, _value(after, path[:depth]))
        if below is None:
            return _added(text, node, part, _value(after, path[: depth + 1]), depth)
        parent, node = node, below
    return _replaced(text, node, parent, _value(after, path))


def _below(node: Node, part: str | int) -> Node | None:
    if isinstance(node, SequenceNode):
        items: list[Node] = node.value
        return items[part] if isinstance(part, int) and part < len(items) else None
    return next((value for key, value in node.value if key.value == str(part)), None)


def _end(text: str, node: Node) -> int:
    """Where a node ends, without the comments and blank lines after it."""
    if isinstance(node, ScalarNode) or _is_flow(node) or not node.value:
        end: int = node.end_mark.index
        if isinstance(node, ScalarNode) and node.style in ("|", ">"):
            end = node.start_mark.index + len(text[node.start_mark.index : end].rstrip())
        return end
    last = node.value[-1]
    return _end(text, last[1] if isinstance(node, MappingNode) else last)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _replaced(text: str, node: Node, parent: Node, value: Any) -> str:
    """Another value for a node of a block mapping or sequence."""
    start, end = node.start_mark.index, _end(text, node)
    if isinstance(parent, MappingNode) and parent is not node:
        key = next(key for key, below in parent.value if below.start_mark.index == start)
        colon = text.index(":", key.end_mark.index) + 1
        if start == end:
            start = end = colon
        block = _block(value, key.start_mark.column)
        if block is not None:
            return f"{text[:colon]}\n{block}{text[end:]}"
        between = text[colon:start]
        gap = " " if "\n" in between or not between else between
        return f"{text[:colon]}{gap}{flow(value)}{text[end:]}"
    return f"{text[:start]}{flow(value)}{text[end:]}"


def _block(value: Any, column: int) -> str | None:
    """The lines of a value in block style; None for one that is written in one line."""
    if isinstance(value, Mapping) and column == 0 and value:
        return "\n".join(f"{' ' * _INDENT}{flow(k)}: {flow(v)}" for k, v in value.items())
    texts = isinstance(value, list) and any(isinstance(e, str) and " " in e for e in value)
    if value and (texts or (isinstance(value, list) and isinstance(value[0], Mapping))):
        return "\n".join(f"{' ' * (column + _INDENT)}- {flow(each)}" for each in value)
    return None


def _added(text: str, node: Node, part: str | int, value: Any, depth: int) -> str:
    """A further entry of a block mapping or sequence."""
    entries = node.value
    after = entries[-1] if entries else None
    column = node.start_mark.column
    if isinstance(node, MappingNode):
        order = list(Scenario.model_fields) if depth == 0 else []
        if part in order:
            known = [e for e in entries if e[0].value in order[: order.index(str(part))]]
            after = known[-1] if known else after
        block = _block(value, column)
        shown = f"\n{block}" if block is not None else f" {flow(value)}"
        entry = f"{' ' * column}{flow(str(part))}:{shown}\n"
        if block is not None and depth == 0:
            entry = f"\n{entry}"
    else:
        column = _dash(text, node) if entries else column
        entry = f"{' ' * column}- {flow(value)}\n"
    if after is None:
        return f"{text.rstrip()}\n{entry}" if text.strip() else entry
    end = _line_end(text, _end(text, after[1] if isinstance(after, tuple) else after))
    before = text[:end] if text[:end].endswith("\n") else f"{text[:end]}\n"
    return f"{before}{entry}{text[end:]}"


def _dash(text: str, node: Node) -> int:
    """The column of the dashes of a block sequence."""
    at = node.value[0].start_mark.index
    return text.rfind("-", 0, at) - _line_start(text, text.rfind("-", 0, at))


def _removed(text: str, path: Path, after: dict[str, Any]) -> str:
    """The text without the option at a path."""
    parent = node = _compose(text)
    for depth, part in enumerate(path[:-1]):
        if _is_flow(node):
            return _replaced(text, node, parent, _value(after, path[:depth]))
        below = _below(node, part)
        assert below is not None
        parent, node = node, below
    if _is_flow(node):
        return _replaced(text, node, parent, _value(after, path[:-1]))
    part = path[-1]
    if isinstance(node, MappingNode):
        index = next(i for i, (key, _) in enumerate(node.value) if key.value == str(part))
        key, value = node.value[index]
        start = _line_start(text, key.start_mark.index)
        if text[start : key.start_mark.index].strip() and index + 1 < len(node.value):
            # Behind the dash of a list: the next option takes its place.
            later = node.value[index + 1][0]
            return text[: key.start_mark.index] + text[later.start_mark.index :]
    else:
        value = node.value[part]
        start = _line_start(text, text.rfind("-", 0, value.start_mark.index))
    return text[:start] + text[_line_end(text, _end(text, value)) :]


def _whole(data: Mapping[str, Any]) -> str:
    return "".join(
        f"{key}:{f'{chr(10)}{block}' if block is not None else f' {flow(value)}'}\n"
        for key, value in data.items()
        for block in [_block(value, 0)]
    )


def _lines(node: Node, path: Path) -> Iterator[tuple[str, int]]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            own = (*path, str(key.value))
            yield dotted(own), key.start_mark.line + 1
            yield from _lines(value, own)
    elif isinstance(node, SequenceNode):
        for index, value in enumerate(node.value):
            yield dotted((*path, index)), value.start_mark.line + 1
            yield from _lines(value, (*path, index))


def _differences(before: Any, after: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The options that differ, and their later values."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and _can_go_below(before, after, path):
        for name in (*after, *(each for each in before if each not in after)):
            if name in after:
                yield from _differences(before.get(name, _MISSING), after[name], (*path, name))
            elif before[name] != _default(name):
                yield (name,), _default(name)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(old, new, (*path, index))
    else:
        yield path, after


_MISSING = object()


def _can_go_below(before: dict[str, Any], after: dict[str, Any], path: Path) -> bool:
    """Whether options below can be set one by one."""
    names = [*before, *after]
    return all(_NAME.fullmatch(str(name)) for name in names) and (
        not path or all(name in after for name in before)
    )


def _default(name: str) -> Any:
    """What a missing option of a scenario means."""
    field = Scenario.model_fields.get(name)
    if field is None or field.is_required():
        return None
    default = field.get_default(call_default_factory=True)
    return {} if hasattr(default, "model_dump") else default


def _needed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data without options at the top that have their default."""
    return {name: value for name, value in data.items() if value != _default(name)}
