"""`/metrics`, outside the API's versions: labs, jobs and runs for Prometheus."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from netkv.api.context import Current
from netkv.api.prometheus import Snapshot

routes = APIRouter(tags=["health"])


@routes.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {
            "description": "The text format of Prometheus, version 0.0.4.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    },
)
async def show_metrics(context: Current) -> Response:
    """Metrics of labs, jobs and runs in the text format of Prometheus."""
    labs = await context.labs.updates()
    snapshot = Snapshot(
        labs=[(each, context.labs.totals(each.name)) for each in labs],
        runs=await asyncio.to_thread(context.store.counts),
        jobs=(await asyncio.to_thread(context.jobs.jobs)).active,
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(snapshot)
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)
