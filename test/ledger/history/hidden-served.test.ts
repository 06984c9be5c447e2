// @module-tag thorough
/** Some of the hidden transactions, each read over gRPC into a database, proven, and asked for over HTTP. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { storeProof } from "../../../src/audit/complete/certificate.ts";
import { type Proof, prove } from "../../../src/audit/complete/prove.ts";
import { acceptedBytecode } from "../../../src/ledger/contract/bytecode.ts";
import { guideWith } from "../../../src/ledger/guided/guided-reading.ts";
import { grpcIndex } from "../../../src/ledger/history/grpc-index.ts";
import { readerAt } from "../../../src/ledger/reading/read.ts";
import { runReader } from "../../../src/ledger/reading/reader.ts";
import { noteIncomplete } from "../../../src/projections/incomplete-coins.ts";
import { serveGraphql } from "../../audit/demo-register.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { follow } from "../../service/following.ts";
import { open } from "../sources/grpc-opening.ts";
import { drawFrom, EPOCH_LENGTH, KINDS } from "./hidden-draws.ts";
import { type Hidden, hiding } from "./hiding.ts";
import { HONEST, type Lies } from "./lies.ts";
import { startListServer } from "./list-server.ts";

/** At most of each kind; together about twenty. */
const OF_EACH_KIND = 5;
const PATIENCE_MS = 120_000;
const never = new AbortController().signal;

const { ledger, facts, drawn } = drawFrom("hidden 0");
const { demo } = ledger;
const NEWEST = ledger.newest();
const COINS = demo.coinTypes.map(({ coinType }) => coinType).toSorted();

const chosen = [
  ...new Set(
    KINDS.flatMap((kind) =>
      [...drawn]
        .filter(([digest, kinds]) => {
          const { checkpoint = 0n } = ledger.placeOf(digest) ?? {};
          // Without the end of an epoch, or the checkpoint that it begins with, nothing is read at all.
          const isNeeded = checkpoint % EPOCH_LENGTH === EPOCH_LENGTH - 1n || checkpoint === NEWEST;
          return kinds.includes(kind) && !isNeeded;
        })
        .slice(0, OF_EACH_KIND)
        .map(([digest]) => digest),
    ),
  ),
];

type Node = Awaited<ReturnType<typeof startListServer>>;
let [liar, witness]: (Node | undefined)[] = [];
beforeAll(async () => {
  [liar, witness] = [await startListServer(ledger), await startListServer(ledger)];
});
afterAll(async () => {
  for (const node of [liar, witness]) await node?.[Symbol.asyncDispose]();
});

const indexOf = (node: Node | undefined) => {
  const index = grpcIndex({
    host: node?.host ?? "",
    tls: false,
    retry: { attempts: 3, damagedAttempts: 3, backoff: { firstMs: 1, maxMs: 5 } },
  });
  return Object.assign(index, { [Symbol.asyncDispose]: () => index.close() });
};

const verification = {
  level: "signatures",
  trust: async () => ({ committee: demo.committee }),
} as const;

/** Reads, proves and projects as a service does, from a node that lies. */
const readAndProve = async (database: TestDatabase, lies: Lies, withWitness: boolean) => {
  if (liar === undefined) throw new Error("no node was started");
  liar.lists.lies = lies;
  await using source = open(liar.host, { certificates: true });
  await using index = indexOf(liar);
  await runReader(
    {
      ...{ database, source, verification },
      read: readerAt("signatures"),
      guide: guideWith({ index, onMissing: (missing) => noteIncomplete(database.sql, missing) }),
      packages: demo.packages.slice(0, 1),
      ...{ firstCheckpoint: 0n, last: NEWEST, retryForMs: 0 },
      waits: { backoff: { firstMs: 5, maxMs: 20 } },
    },
    never,
  );
  await using second = indexOf(witness);
  await using whole = open((withWitness ? witness : liar)?.host ?? "", { certificates: true });
  const proof = await prove(
    database,
    {
      ...{ index, verification, source: whole, againMs: 1 },
      witness: withWitness ? second : null,
      accepted: acceptedBytecode(),
    },
    never,
  );
  await database.transaction(({ sql }) => storeProof(sql, proof, [], true));
  const { chainId, packages } = demo;
  const following = await follow(database, { chainId, packages: packages.slice(0, 1) });
  await following.project(1_000);
  return proof;
};

const answer = z.object({
  data: z.object({ capTable: z.object({ root: z.string() }).nullable() }).nullish(),
  errors: z
    .array(z.object({ message: z.string(), extensions: z.record(z.string(), z.unknown()) }))
    .default([]),
});

/** The answer about each coin, as served. */
const served = async (database: TestDatabase) => {
  await using api = await serveGraphql(database);
  const answers = new Map<string, z.infer<typeof answer>>();
  for (const coinType of COINS) {
    const query = `{ capTable(coinType: "${coinType}") { root } }`;
    const response = await fetch(`${api.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": api.key },
      body: JSON.stringify({ query }),
    });
    answers.set(coinType, answer.parse(await response.json()));
  }
  return answers;
};

const honest = new Map<string, string>();
beforeAll(async () => {
  await using database = await freshDatabase();
  const { coins } = await readAndProve(database, HONEST, true);
  expect(coins.map(({ verdict }) => verdict)).toEqual(COINS.map(() => "complete"));
  for (const [coinType, { data }] of await served(database)) {
    honest.set(coinType, data?.capTable?.root ?? "");
  }
}, PATIENCE_MS);

const isUpgrade = (digest: string): boolean => drawn.get(digest)?.includes("upgrade") === true;

/** Coins whose objects a hidden checkpoint changed; all, if it upgraded the contract. */
const coinsOf = (digest: string, { checkpoint }: Hidden): ReadonlySet<string> => {
  if (isUpgrade(digest)) return new Set(COINS);
  const inside = facts.filter((fact) => fact.checkpoint === checkpoint);
  return new Set(inside.flatMap(({ coinType }) => (coinType === null ? [] : [coinType])));
};

const expectRefused = async (
  database: TestDatabase,
  digest: string,
  hidden: Hidden,
  { coins }: Proof,
) => {
  const changed = coinsOf(digest, hidden);
  const answers = await served(database);
  for (const { coinType, gaps, verdict, notShown } of coins) {
    const { data, errors } = answers.get(coinType) ?? { errors: [] };
    const root = data?.capTable?.root;
    if (!changed.has(coinType)) {
      const expected = [coinType, "complete", [], honest.get(coinType)];
      expect([coinType, verdict, errors, root]).toEqual(expected);
      continue;
    }
    // Of a newer version whose transaction the node denies too, the proof leaves the word to the reading.
    expect([coinType, verdict]).toEqual([
      coinType,
      expect.stringMatching(/^(incomplete|not shown)$/),
    ]);
    const other = gaps.filter((gap) => !hidden.changedBeside(gap));
    // Without an upgrade, what its code did is what no known function does.
    if (isUpgrade(digest)) expect([...other, ...notShown].length).toBeGreaterThan(0);
    else expect(other).toEqual([]);
    const [error] = errors;
    if (error === undefined && hidden.removesAll) {
      // Two nodes contradict each other on empty tokens: neither word counts, and no amount rests on it.
      const named = [...hidden.objects].filter((id) => notShown.some((what) => what.includes(id)));
      expect(named).not.toEqual([]);
      expect(root).toBe(honest.get(coinType));
      continue;
    }
    expect(data?.capTable ?? null).toBeNull();
    expect(error?.extensions).toMatchObject({ code: "QUARANTINED", pipeline: "completeness" });
    const { message = "" } = error ?? {};
    const [, objectId = "", version = ""] =
      /: object (0x[0-9a-f]{64}), version (\d+): /.exec(message) ?? [];
    expect(version, message).not.toBe("");
    const named = { objectId, version: BigInt(version) };
    const shows = isUpgrade(digest)
      ? hidden.changed(named) || other.some((gap) => gap.objectId === objectId)
      : hidden.changedBeside(named);
    expect(shows, message).toBe(true);
  }
};

test("every kind of hidden transaction is among those that are served", () => {
  const kinds = new Set(chosen.flatMap((digest) => drawn.get(digest) ?? []));
  expect(kinds).toEqual(new Set(KINDS));
  expect(chosen.length).toBeGreaterThan(12);
});

test.each(chosen.map((digest) => ({ digest, of: (drawn.get(digest) ?? []).join(", ") })))(
  "a token is refused by object and version of its hidden transaction $digest ($of), and others are served",
  async ({ digest }) => {
    const hidden = hiding(ledger, digest, facts);
    await using database = await freshDatabase();
    const proof = await readAndProve(database, hidden.everywhere, false);
    await expectRefused(database, digest, hidden, proof);
    if (hidden.stale.heads.size === 0) return;
    // With the versions before, and a second node that has the later ones.
    await using denied = await freshDatabase();
    const shown = await readAndProve(denied, hidden.stale, true);
    await expectRefused(denied, digest, hidden, shown);
  },
  PATIENCE_MS,
);
