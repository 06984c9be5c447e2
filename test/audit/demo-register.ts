/** The register of a demo ledger's first checkpoints in a database of its own, and a GraphQL over it. */
import { createDemoLedger, type DemoOptions } from "../../demo/demo-ledger.ts";
import type { DemoModel } from "../../demo/model.ts";
import { connect } from "../../src/database/connect.ts";
import { createReaders } from "../../src/database/readers.ts";
import { graphqlPart } from "../../src/graphql/part.ts";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";
import { createKey } from "../../src/http/keys.ts";
import { watchPackages } from "../../src/log/packages.ts";
import { rootsPart } from "../../src/page-api/roots-part.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { serve } from "../http/service.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";

/** A database that follows a demo ledger, as far as it is told to. */
export type DemoRegister = AsyncDisposable & {
  readonly database: TestDatabase;
  readonly model: DemoModel;
  /** Goes on by so many checkpoints, so many facts of them a batch; `appendOnly` leaves the pipelines behind. */
  readonly advance: (
    checkpoints: number,
    maxFacts?: number,
    how?: { readonly appendOnly?: boolean },
  ) => Promise<void>;
  /** A register of its own, with everything that is in this one, that goes on from here. */
  readonly copy: () => Promise<DemoRegister>;
};

/** @param database migrated and empty; a new one unless given */
export const demoRegister = async (
  { seed = 3, ...options }: Partial<DemoOptions> = {},
  database?: TestDatabase,
): Promise<DemoRegister> =>
  await registerIn(database ?? (await freshDatabase()), { seed, ...options });

const registerIn = async (database: TestDatabase, options: DemoOptions): Promise<DemoRegister> => {
  const ledger = createDemoLedger(options);
  const following = await follow(database, ledger);
  return {
    database,
    model: ledger.model,
    advance: async (checkpoints, maxFacts = 1_000, { appendOnly = false } = {}) => {
      const raws = Array.from({ length: checkpoints }, () => {
        const { sequence, raw } = ledger.next();
        return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
      });
      await following.append(raws);
      if (!appendOnly) await following.project(maxFacts);
    },
    copy: async () => registerIn(await copyOf(database), { ...options, from: ledger.save() }),
    [Symbol.asyncDispose]: () => database.close(),
  };
};

/** Serves the GraphQL of a database and what it signed, at most `quota` requests a second. */
export const serveGraphql = async (database: TestDatabase, quota = 1_000_000) => {
  const connection = { url: database.url, max: 3, applicationName: "test-read", readOnly: true };
  const read = connect(connection);
  const readers = createReaders(connection);
  const part = graphqlPart({
    keys: readers.for(undefined, 1),
    sources: {
      readers,
      packages: watchPackages(readers.for(undefined, 1), []),
      pipelines: ledgerPipelines,
      now: Date.now,
    },
    limits: {
      limit: createRateLimit({ policy: "default", quota, windowSeconds: 1 }),
      attempts: createRateLimit({ policy: "attempts", quota: 1_000, windowSeconds: 60 }),
    },
  });
  const limit = createRateLimit({ policy: "roots", quota: 1_000_000, windowSeconds: 1 });
  const service = await serve({ parts: [part, rootsPart({ db: read.db, limit })] });
  const { secret: key } = await createKey(database, { kind: "graphql" });
  return {
    url: service.url,
    key,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await Promise.all([read.close(), readers.close()]);
    },
  };
};
