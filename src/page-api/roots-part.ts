/**
 * `GET /roots`, `GET /log-heads`, `GET /sequence` and `GET /deployment-keys`: signed roots of cap
 * tables and heads of the log, to compare with one's own copy. Every serving process has them,
 * without a key.
 */
import { z } from "zod";
import { keyHistory } from "../audit/sequence/key-history.ts";
import { signedHeads } from "../audit/sequence/log-heads.ts";
import { publishedRoots2, publishedRootsOf } from "../audit/sequence/published-roots.ts";
import { chainIdOf, entriesAfter } from "../audit/sequence/sequence.ts";
import type { Db } from "../database/connect.ts";
import type { RateLimit } from "../http/edge/rate-limit.ts";
import { limitParameter } from "../http/parameters.ts";
import type { Part } from "../http/part.ts";
import { ANY_PARAMETERS, json, type Route, route } from "../http/route.ts";
import { anyone } from "../http/who.ts";
import { resolveCoin } from "../log/coins.ts";
import { canonicalType } from "../values/move-type.ts";
import { deploymentKeysAnswer, logHeadsAnswer, rootsAnswer, sequenceAnswer } from "./answers.ts";
import { canonicalBy } from "./requested-table.ts";

const number = (what: string, description: string) =>
  z
    .string()
    .regex(/^\d{1,18}$/, `must be ${what}`)
    .transform(BigInt)
    .pipe(z.bigint())
    .optional()
    .meta({ description });

const checkpoint = (description: string) => number("a checkpoint number", description);

const rootsQuery = z.strictObject({
  coinType: z
    .string()
    .transform(canonicalBy(canonicalType))
    .meta({ description: "Coin type; addresses in it in short form, too." }),
  checkpoint: checkpoint("Only the root of this checkpoint."),
  version: z.enum(["1", "2"], "must be 1 or 2").default("1").meta({
    description:
      "2: roots of statements of version 2, each with the entry of the sequence that published it.",
  }),
  limit: limitParameter().meta({ description: "Roots of one page." }),
  after: checkpoint("Checkpoint of the last root seen: the page has those below it."),
});

const headsQuery = z.strictObject({
  limit: limitParameter().meta({ description: "Heads of one page." }),
  after: checkpoint("Checkpoint of the last head seen: the page has those below it."),
});

const sequenceQuery = z.strictObject({
  limit: limitParameter().meta({ description: "Entries of one page." }),
  after: number(
    "the number of an entry",
    "Number of the last entry seen: the page has those after it.",
  ),
});

type RootsPartSettings = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly limit: RateLimit;
};

export const rootsPart = ({ db, limit }: RootsPartSettings): Part => ({
  name: "roots",
  paths: [
    { path: "/roots", about: "signed roots of cap tables: GET with coinType" },
    { path: "/log-heads", about: "signed heads of the log's hash chain" },
    { path: "/sequence", about: "what was signed, each entry with the hash of the one before" },
    {
      path: "/deployment-keys",
      about: "public keys that roots, statements and log heads are signed with",
    },
  ],
  routes: rootsRoutes(db, limit),
  described: {
    tag: { name: "Proofs", description: "What a holder's statement is compared with." },
  },
});

const rootsRoutes = (db: Db, limit: RateLimit): readonly Route[] => {
  const who = anyone(limit);
  return [
    route({
      method: "GET",
      path: "/roots",
      who,
      operationId: "publishedRoots",
      summary: "Signed roots of a token's cap tables",
      query: rootsQuery,
      answer: json("PublishedRoots", rootsAnswer, "A page."),
      handle: async ({ query: { version, checkpoint, after, limit: most, ...asked } }) => {
        const { coinType } = await resolveCoin(db, asked.coinType);
        const read = version === "2" ? publishedRoots2 : publishedRootsOf;
        const roots = await read(db, { coinType, checkpoint, before: after, limit: most });
        const listed = roots.map((root) => ({ ...root, corrections: [...root.corrections] }));
        return { roots: listed, next: nextOf(roots, most)?.checkpoint ?? null };
      },
    }),
    route({
      method: "GET",
      path: "/log-heads",
      who,
      operationId: "logHeads",
      summary: "Signed heads of the log's hash chain",
      query: headsQuery,
      answer: json("LogHeads", logHeadsAnswer, "A page."),
      handle: async ({ query: { limit: most, after } }) => {
        const found = await signedHeads(db.sql, most, after);
        const heads = found.map(({ publicKey: _, checkpoint: number, ...head }) => ({
          checkpoint: `${number}`,
          ...head,
        }));
        const next = nextOf(heads, most)?.checkpoint ?? null;
        return { chainId: await chainIdOf(db.sql), heads, next };
      },
    }),
    route({
      method: "GET",
      path: "/sequence",
      who,
      operationId: "sequence",
      summary: "What was signed, in one sequence",
      query: sequenceQuery,
      answer: json("Sequence", sequenceAnswer, "A page."),
      handle: async ({ query: { limit: most, after = -1n } }) => {
        const entries = await entriesAfter(db, after, most);
        return { entries: [...entries], next: nextOf(entries, most)?.number ?? null };
      },
    }),
    route({
      method: "GET",
      path: "/deployment-keys",
      who,
      operationId: "deploymentKeys",
      summary: "Public keys that roots, statements and heads of the log are signed with",
      query: ANY_PARAMETERS,
      answer: json("DeploymentKeys", deploymentKeysAnswer, "The keys."),
      handle: async () => ({ algorithm: "ed25519", keys: [...(await keyHistory(db)).keys] }),
    }),
  ];
};

/** The last item of a full page, after which there may be more. */
const nextOf = <Item>(page: readonly Item[], most: number): Item | undefined =>
  page.length < most ? undefined : page.at(-1);
