# The server in a container: docker build -t hyper-delay .
# docs/operations.md says how to run it.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --locked --release -p hyper-delay

FROM debian:bookworm-slim
RUN useradd --system --uid 7000 --home-dir /var/lib/hyper-delay --shell /usr/sbin/nologin hyper-delay \
    && install -d -m 0750 -o hyper-delay -g hyper-delay /var/lib/hyper-delay
COPY --from=build /source/target/release/hyper-delay /usr/bin/
COPY crates/hyper-delay/packaging/container.json /etc/hyper-delay.json
# allowed_hosts of that file lets in this machine only, which is the container: mount a file of your
# own for others, with tokens and tls.
ENV HYPER_DELAY_BIND_ADDR=0.0.0.0:7000
USER hyper-delay
WORKDIR /var/lib/hyper-delay
VOLUME /var/lib/hyper-delay
EXPOSE 7000
HEALTHCHECK CMD ["hyper-delay", "ping"]
ENTRYPOINT ["hyper-delay"]
CMD ["serve", "--config", "/etc/hyper-delay.json"]
