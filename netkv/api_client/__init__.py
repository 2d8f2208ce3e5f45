"""A client of the API of `netkv serve`.

    from netkv.api_client import Client

    client = Client.local()
    result = client.run("quickstart", set=["duration=10"])
    print(client.compare([run.id for run in result.runs]).rows[0])

It uses the standard library for HTTP: the API is JSON and one stream of lines, and a package for
that would be one more dependency of every installation.
"""

from netkv.api_client.client import Changes, Client, Scenario
from netkv.api_client.errors import ApiError, JobError, NoServerError, WrongField
from netkv.api_client.stream import Message

__all__ = [
    "ApiError",
    "Changes",
    "Client",
    "JobError",
    "Message",
    "NoServerError",
    "Scenario",
    "WrongField",
]
