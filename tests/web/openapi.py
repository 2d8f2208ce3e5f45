"""Prints the OpenAPI document, for the types of the dashboard (`make lint`)."""

from __future__ import annotations

import json

from netkv.api.app import openapi

if __name__ == "__main__":
    print(json.dumps(openapi()))
