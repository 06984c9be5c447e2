# Stage one: builds the page with the development tools.
FROM node:24-bookworm-slim AS page
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund --loglevel=error
COPY tsconfig.json ./
COPY bin bin
COPY client client
COPY src/values src/values
COPY web web
RUN node bin/run.mjs web

# Stage two: the service without those tools, run by an unprivileged user who cannot change it.
FROM node:24-bookworm-slim
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund --loglevel=error && npm cache clean --force
COPY LICENSE CHANGELOG.md .env.example ./
COPY bin bin
COPY client client
COPY src src
COPY demo demo
COPY drizzle drizzle
COPY --from=page /app/web/dist web/dist

# Persistent data; with DATABASE_URL only keys and the demo's ledger.
RUN mkdir -p /data && chown node:node /data
VOLUME /data
# The root file system may be read-only: Node's compile cache, which speeds up every start but the first, is in /tmp.
# Downloads in Open Cap Format are assembled on the volume, because /tmp may be memory.
ENV DATA_DIR=/data TMPDIR=/data HOST=0.0.0.0 PORT=4000 NODE_ENV=production NODE_COMPILE_CACHE=/tmp/holderbook
USER node

EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/ready`).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "bin/holderbook.mjs"]
CMD ["start"]
