# syntax=docker/dockerfile:1
# The Python services: collect, retry, observe, console, canary. From the project's root:
#   docker build -f infra/workloads/images/service.Dockerfile -t hifi/service .
# The digest is that of the multi-platform image, for arm64 and amd64.
FROM python:3.12.14-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254 AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
WORKDIR /build
RUN python -m venv /opt/hifi/venv
COPY requirements.txt infra/workloads/images/drop-packages.awk ./
# Without PySpark and what only its workers import: 600 MB that no service uses.
RUN awk -v drop="pyspark py4j pandas pyarrow" -f drop-packages.awk requirements.txt > service.txt \
    && /opt/hifi/venv/bin/pip install --require-hashes --only-binary=:all: -r service.txt

FROM python:3.12.14-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254
ENV PATH=/opt/hifi/venv/bin:$PATH PYTHONPATH=/opt/hifi/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
COPY --from=build /opt/hifi/venv /opt/hifi/venv
COPY infra/workloads/images/in-zone.sh /opt/hifi/bin/in-zone
COPY shared /opt/hifi/app/shared
COPY pipelines /opt/hifi/app/pipelines
# Compiled here, since the root file system is read-only at run time.
RUN chmod 0755 /opt/hifi/bin/in-zone && python -m compileall -q /opt/hifi/app
# What metrics and heartbeats report: the image holds the code without its package.
ARG HIFI_VERSION
ENV HIFI_VERSION=$HIFI_VERSION
WORKDIR /opt/hifi/app
USER 10001:10001
ENTRYPOINT ["/opt/hifi/bin/in-zone", "python"]
CMD ["-m", "pipelines.data.collect"]
