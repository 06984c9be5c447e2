/** The callbacks' bench on a Postgres of its own, as a line of `npm run bench`. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../src/database/connect.ts";
import { startEmbeddedPostgres } from "../src/database/embedded/embedded.ts";
import { migrate } from "../src/database/migrate.ts";
import { callbacksBench } from "./callbacks.ts";
import type { Figure } from "./figure.ts";

export const callbackFigure = async (): Promise<Figure> => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-bench-"));
  const server = await startEmbeddedPostgres({ dataDir: folder });
  try {
    await using database = connect({ url: server.url, max: 1, applicationName: "bench" });
    await migrate(database);
    const { deliveriesPerSecond, oneLanePerSecond, barePerSecond, latencyMs } =
      await callbacksBench({ databaseUrl: server.url });
    const perSecond = (rate: number) => `${Math.round(rate)}/s`;
    return {
      name: "Callbacks delivered to a local receiver, beside bare posting loops with one update each",
      reached: perSecond(deliveriesPerSecond),
      aim: "as many as can be",
      detail: `signed, recorded, in order per lane over 40 lanes; ${perSecond(barePerSecond)} by the bare loops, ${perSecond(oneLanePerSecond)} in one lane; a lone callback arrives ${latencyMs.p50} ms after its commit (p99 ${latencyMs.p99} ms)`,
    };
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
};
