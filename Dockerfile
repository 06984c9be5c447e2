# Stage one: with the tools of development, builds the page.
FROM node:24-bookworm-slim AS page
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund --loglevel=error
COPY tsconfig.json ./
COPY bin bin
COPY client client
COPY web web
RUN node bin/run.mjs web

# Stage two: the service without those tools, as an unprivileged user who may change nothing of it.
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

# What is kept on disk; with DATABASE_URL nothing but keys and the demo's ledger.
RUN mkdir -p /data && chown node:node /data
VOLUME /data
# The root may be read-only: what Node compiled, which makes every start but the first quicker, goes to /tmp.
# Downloads in Open Cap Format are put together on the volume: /tmp may be memory.
ENV DATA_DIR=/data TMPDIR=/data HOST=0.0.0.0 PORT=4000 NODE_ENV=production NODE_COMPILE_CACHE=/tmp/holderbook
USER node

EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/ready`).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "bin/holderbook.mjs"]
CMD ["start"]
