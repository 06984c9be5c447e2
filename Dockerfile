# The service without its development tools, as an unprivileged user.
FROM node:24-bookworm-slim

WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund --loglevel=error
COPY bin bin
COPY src src
COPY client client
COPY demo demo
COPY drizzle drizzle

# Everything kept on disk; give DATABASE_URL to keep nothing here but the demo's clock.
ENV DATA_DIR=/data HOST=0.0.0.0 PORT=4000 NODE_ENV=production
# Of the program itself only what Node compiled is written, which makes every start but the first quicker.
RUN mkdir -p /data node_modules/.holderbook && chown node:node /data node_modules/.holderbook
VOLUME /data
USER node

EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/ready`).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "bin/holderbook.mjs"]
CMD ["start"]
