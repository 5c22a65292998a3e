# Quayside itself, for Kubernetes: docker build -t quayside .

# Whatever needs this host's package index, proxy or certificates happens in this stage, as in images/.
FROM debian:bookworm AS build
LABEL quayside.stage=build
COPY Dockerfile host* /host/
RUN if [ -f /host/env ]; then . /host/env; fi \
  && apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates libatomic1 nodejs npm
WORKDIR /opt/quayside
COPY package.json package-lock.json .npmrc tsconfig.json ./
# Debian's Node is too old for some packages, and fetches the one that they need.
RUN if [ -f /host/env ]; then . /host/env; fi \
  && npm install --prefix /opt/node --loglevel error "node@$(node -p 'require("./package.json").dependencies.node')" \
  && ln -s /opt/node/node_modules/node/bin/node /usr/local/bin/node \
  && npm ci --ignore-scripts --loglevel error && npm rebuild node --loglevel error
COPY bin bin
COPY script/build-web.ts script/build-web.ts
COPY script/lib/web-build.ts script/lib/web-build.ts
COPY src src
# The icon and the style of the pages that the server makes stay in src/web.
RUN node_modules/node/bin/node script/build-web.ts \
  && if [ -f /host/env ]; then . /host/env; fi && npm prune --omit=dev --ignore-scripts --loglevel error \
  && find src '(' -name '*.test.ts' -o -path 'src/web/*.ts*' ')' -delete && rm -rf node_modules/.cache

FROM debian:bookworm
COPY --from=build /opt/quayside /opt/quayside
COPY --from=build /usr/lib/*-linux-gnu/libatomic.so.1* /usr/local/lib/
# Names of people and groups are not needed; the user of the processes that need no root.
RUN useradd --uid 1001 --no-create-home --home-dir /var/lib/quayside --shell /usr/sbin/nologin quayside \
  && ldconfig && install -d -o quayside -g quayside -m 0700 /var/lib/quayside
WORKDIR /opt/quayside
ENV PATH=/opt/quayside/node_modules/node/bin:$PATH QUAYSIDE_DATA_DIR=/var/lib/quayside QUAYSIDE_HOST=0.0.0.0
# See docs/decisions/0024-memory-that-goes-back.md.
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=1048576
# Node keeps a cache of compiled code for each user.
RUN install -d -m 1777 node_modules/.cache/quayside && node bin/compile.js \
  && setpriv --reuid 1001 --regid 1001 --clear-groups node bin/compile.js && chmod 0755 node_modules/.cache/quayside
EXPOSE 8080 8081 8082
ENTRYPOINT ["node", "/opt/quayside/bin/quayside.js"]
CMD ["serve"]
