# syntax=docker/dockerfile:1
#
# The image of one of the three servers, for the platforms that are asked for:
#
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg BINARY=convoy-observer -t … --push .
#
# Two builds of a tree make the same binary. With SOURCE_DATE_EPOCH in the environment and
# --output type=image,rewrite-timestamp=true,… they make the same image, from the same bases: give
# those with their digests, as --build-arg GO_IMAGE=golang:1.26@sha256:… and BASE_IMAGE=….
ARG GO_IMAGE=golang:1.26
ARG BASE_IMAGE=gcr.io/distroless/static:nonroot
# Where the binary is from: build, which compiles it here, or release, which takes one that is there.
ARG FROM=build

# Runs on the platform of the machine, whichever is compiled for.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
ARG BINARY
WORKDIR /src
COPY . .
ARG TARGETOS TARGETARCH TAGS=""
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    case "$BINARY" in \
      convoy-apiserver) cd apiserver ;; \
      convoy-controller-manager) cd controllermanager ;; \
      convoy-observer) cd observer ;; \
      *) echo "BINARY is convoy-apiserver, convoy-controller-manager or convoy-observer" >&2; exit 1 ;; \
    esac && \
    GOWORK=off CGO_ENABLED=0 GOOS="$TARGETOS" GOARCH="$TARGETARCH" \
      go build -trimpath -buildvcs=false -tags "$TAGS" -ldflags "-s -w -buildid=" -o /binary "./cmd/$BINARY"

# Goreleaser lays linux/amd64/convoy-observer and its like into the context.
FROM scratch AS release
ARG BINARY TARGETPLATFORM
COPY $TARGETPLATFORM/$BINARY /binary

FROM ${FROM} AS binary

# It has the certificates of public CAs and the data of time zones.
FROM ${BASE_IMAGE}
COPY --from=binary /binary /binary
USER 65532:65532
ENTRYPOINT ["/binary"]
