# Any image with Python 3.11 to 3.13 and its venv module on Debian or a relative of it.
ARG BASE=python:3.12.14-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254

FROM ${BASE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1
COPY deploy/requirements.lock deploy/build-requirements.lock deploy/
RUN python3 -m venv /opt/hw-exporter \
 && /opt/hw-exporter/bin/python -m pip install --quiet --require-hashes --only-binary :all: \
      -r deploy/requirements.lock \
 && python3 -m venv /opt/build \
 && /opt/build/bin/python -m pip install --quiet --require-hashes --only-binary :all: \
      -r deploy/build-requirements.lock
COPY pyproject.toml setup.py README.md LICENSE VERSION ./
COPY exporter exporter
COPY docs/runbooks docs/runbooks
RUN /opt/build/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/hw-exporter/bin/python -m pip install --quiet --no-deps --no-index /wheels/*.whl \
 && /opt/hw-exporter/bin/python -m pip uninstall --quiet --yes setuptools pip \
 && PYTHONNODEBUGRANGES=1 /opt/hw-exporter/bin/python -OO -m compileall -q /opt/hw-exporter/lib

FROM ${BASE}
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=https://github.com/hw-exporter/hw-exporter
LABEL org.opencontainers.image.title="hw-exporter" \
      org.opencontainers.image.description="Prometheus exporter for NVIDIA GPU and CPU nodes" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
# The NVIDIA container runtime brings the driver's library and nvidia-smi in; without it these do nothing.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=utility \
    PATH=/opt/hw-exporter/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONDONTWRITEBYTECODE=1 PYTHONOPTIMIZE=2 PYTHONNODEBUGRANGES=1
# Without docstrings and columns of tracebacks it holds 2 MiB less. Bases have the standard library
# uncompiled, or compiled with them: it would be compiled at each start.
RUN python3 -m compileall -q -x "/(test|tests|idlelib|lib2to3|ensurepip|site-packages|dist-packages)/" \
      "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=build /opt/hw-exporter /opt/hw-exporter
COPY config/default.toml /etc/hw-exporter/default.toml
COPY --chmod=755 entrypoint.sh /entrypoint.sh
WORKDIR /
USER 65534:65534
EXPOSE 8080
STOPSIGNAL SIGTERM
# Asks over plain HTTP on APP__SERVER__PORT; with TLS give a check of your own, or none.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["/opt/hw-exporter/bin/python", "-I", "-OO", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ.get('APP__SERVER__PORT', '8080') + '/health', timeout=4)"]
ENTRYPOINT ["/entrypoint.sh"]
