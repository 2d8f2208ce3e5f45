"""The routes of tools: long commands that search for faults, or measure this machine."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from netkv.api.context import Context, Current
from netkv.api.models.jobs import CommandRequest, Job
from netkv.api.models.tools import Tool
from netkv.api.parameters import Name
from netkv.api.problems import responses

routes = APIRouter(tags=["tools"])


@routes.get("/tools")
def list_tools() -> list[Tool]:
    """The long commands that run neither a scenario nor a benchmark."""
    from netkv.api.jobs.tools import TOOLS

    return [
        Tool(
            id=each.id,
            name=each.name,
            summary=each.command.summary,
            seconds=each.seconds,
            options_schema=each.command.schema,
        )
        for each in TOOLS
    ]


@routes.post("/tools/{name}", status_code=202, responses=responses(404, 422, 429))
async def start_tool(context: Current, name: Name, request: CommandRequest) -> Job:
    """Run a tool as a job, as its command does with `--json`. Its result is the document that
    the command prints."""
    return await asyncio.to_thread(_submit, context, name, request)


def _submit(context: Context, name: str, request: CommandRequest) -> Job:
    from netkv.api.jobs import tools

    tool = tools.find(name)
    line = tool.command.line(request.options)
    return context.jobs.submit(
        kind="tool",
        title=tool.name,
        request={"tool": tool.id, "options": request.options},
        command=lambda _id, _directory: line,
        # The estimate is for the options of the tool itself.
        expected_seconds=None if request.options else tool.seconds,
    )
