# syntax=docker/dockerfile:1
# Spark master, workers and drivers, with the code of the nodes. From the project's root:
#   docker build -f infra/workloads/images/spark.Dockerfile -t hifi/spark .
# Each digest is that of the multi-platform image, for arm64 and amd64.
FROM maven:3.9.16-eclipse-temurin-17-noble@sha256:a8746f15d5bb26b5b8bacb056cc76211553850f4c71d16aff845cfa004cbc197 AS jars
WORKDIR /build
COPY scripts/local/pom.xml scripts/local/maven-settings.xml ./
COPY infra/workloads/images/cluster/pom.xml cluster/
RUN mvn -B -q -s maven-settings.xml -f pom.xml -Pspark dependency:copy-dependencies -DoutputDirectory=/jars/connector \
    && mvn -B -q -s maven-settings.xml -f cluster/pom.xml dependency:copy-dependencies -DoutputDirectory=/jars/cluster \
    # A class loader does not search its children: IAM authentication must be beside the Kafka client that loads it.
    && mv /jars/cluster/aws-msk-iam-auth-*.jar /jars/connector

FROM eclipse-temurin:17.0.19_10-jre-jammy@sha256:475d8e96b4b2bfe08999e5e854755c773af1581acdf959a4545d88f0696a2339 AS java

FROM python:3.12.14-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254 AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
WORKDIR /build
RUN python -m venv /opt/hifi/venv
COPY requirements-build.txt requirements.txt ./
# PySpark is published as source only, so the packages that build it are pinned as well.
RUN /opt/hifi/venv/bin/pip install --require-hashes -r requirements-build.txt \
    && /opt/hifi/venv/bin/pip install --require-hashes --no-build-isolation -r requirements.txt \
    && ln -s "$(/opt/hifi/venv/bin/python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')" /opt/hifi/spark
# In Spark's own folder; otherwise the driver would send them to every new executor.
COPY --from=jars /jars/cluster /opt/hifi/spark/jars

FROM python:3.12.14-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254
ENV JAVA_HOME=/opt/java/openjdk SPARK_HOME=/opt/hifi/spark SPARK_CONF_DIR=/etc/spark HIFI_JARS=/opt/hifi/jars \
    PATH=/opt/hifi/venv/bin:/opt/hifi/spark/bin:/opt/java/openjdk/bin:$PATH PYTHONPATH=/opt/hifi/app \
    PYSPARK_PYTHON=/opt/hifi/venv/bin/python PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
COPY --from=java /opt/java/openjdk /opt/java/openjdk
COPY --from=build /opt/hifi /opt/hifi
COPY --from=jars /jars/connector /opt/hifi/jars
COPY infra/workloads/images/drain-worker.sh /opt/hifi/bin/drain-worker
COPY infra/workloads/images/in-zone.sh /opt/hifi/bin/in-zone
COPY infra/workloads/images/start-master.sh /opt/hifi/bin/start-master
COPY infra/workloads/images/master-is-alive.sh /opt/hifi/bin/master-is-alive
COPY shared /opt/hifi/app/shared
COPY pipelines /opt/hifi/app/pipelines
# Hadoop looks up the user's name, which a numeric user id does not have without this line.
RUN echo "spark:x:10001:10001::/tmp:/usr/sbin/nologin" >> /etc/passwd \
    && chmod 0755 /opt/hifi/bin/* && mkdir /etc/spark \
    && python -m compileall -q /opt/hifi/app
# What metrics and heartbeats report: the image holds the code without its package.
ARG HIFI_VERSION
ENV HIFI_VERSION=$HIFI_VERSION
WORKDIR /opt/hifi/app
USER 10001:10001
ENTRYPOINT ["/opt/hifi/bin/in-zone"]
CMD ["python", "-m", "pipelines.data.ingest"]
