# The engine is built in the first stage; the second has Python only.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
        ca-certificates curl gcc libc6-dev make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN curl -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal
ENV PATH="/root/.cargo/bin:${PATH}"
WORKDIR /src
COPY . .
RUN make wheel

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv \
        redis-server \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/dist/*.whl /tmp/
RUN python3 -m venv /opt/netkv && /opt/netkv/bin/pip install --no-cache-dir /tmp/*.whl && rm /tmp/*.whl
ENV PATH="/opt/netkv/bin:${PATH}" NETKV_HOME=/var/lib/netkv
VOLUME /var/lib/netkv
ENTRYPOINT ["netkv"]
CMD ["serve"]
