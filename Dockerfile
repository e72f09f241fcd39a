# SPDX-License-Identifier: Apache-2.0
# An image with the static program and nothing else, mostly to be copied from: see docs/guide/install.md.
# `make dist` builds what is copied here; TARGETARCH is amd64 or arm64 and comes from BuildKit.
ARG TARGETARCH

FROM scratch AS program-amd64
COPY dist/stage/x86_64-linux-musl/resource-tracker /resource-tracker

FROM scratch AS program-arm64
COPY dist/stage/aarch64-linux-musl/resource-tracker /resource-tracker

FROM program-${TARGETARCH}
ARG VERSION
LABEL org.opencontainers.image.title="resource-tracker" \
      org.opencontainers.image.description="measures what a command, a process tree or a host uses" \
      org.opencontainers.image.licenses="Apache-2.0 AND Zlib AND MIT" \
      org.opencontainers.image.version="${VERSION}"
COPY LICENSE packaging/notices/musl.txt /licenses/
ENTRYPOINT ["/resource-tracker"]
