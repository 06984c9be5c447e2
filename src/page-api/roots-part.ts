/**
 * `GET /roots`, `GET /log-heads`, `GET /sequence` and `GET /deployment-keys`: what was signed of cap tables and of the log, for
 * anybody to compare with what they have. Every process that answers requests serves them, without a key.
 */
import { z } from "zod";
import { keyHistory } from "../audit/sequence/key-history.ts";
import { chainIdOf, signedHeads } from "../audit/sequence/log-heads.ts";
import { publishedRootsOf } from "../audit/sequence/published-roots.ts";
import { publishedRoots2 } from "../audit/sequence/root-entries.ts";
import { entriesAfter } from "../audit/sequence/sequence.ts";
import type { Db } from "../database/connect.ts";
import { type ApiDescription, jsonAnswer, jsonSchema, schemaRef } from "../http/api-description.ts";
import { refuseOtherMethods } from "../http/edge/other-methods.ts";
import type { RateLimit } from "../http/edge/rate-limit.ts";
import { HttpError } from "../http/http-error.ts";
import { describeParameters, limitParameter, readParameters } from "../http/parameters.ts";
import type { App, Part } from "../http/part.ts";
import { resolveCoin } from "../log/coins.ts";
import { canonicalType, MoveTypeError } from "../values/move-type.ts";
import { deploymentKeysAnswer, logHeadsAnswer, rootsAnswer, sequenceAnswer } from "./answers.ts";

const ROOTS_PATH = "/roots";
const HEADS_PATH = "/log-heads";
const KEYS_PATH = "/deployment-keys";
const SEQUENCE_PATH = "/sequence";

const checkpoint = (description: string) =>
  z
    .string()
    .regex(/^\d{1,18}$/, "must be a checkpoint number")
    .optional()
    .meta({ description });

const rootsQuery = z.strictObject({
  coinType: z.string().meta({ description: "Coin type; addresses in it in short form, too." }),
  checkpoint: checkpoint("Only the root of this checkpoint."),
  version: z.enum(["1", "2"], "must be 1 or 2").default("1").meta({
    description:
      "2: roots of statements of version 2, each with the entry of the sequence that published it.",
  }),
  limit: limitParameter.meta({ description: "Roots of one page." }),
  after: checkpoint("Checkpoint of the last root seen: the page has those below it."),
});

const headsQuery = z.strictObject({
  limit: limitParameter.meta({ description: "Heads of one page." }),
  after: checkpoint("Checkpoint of the last head seen: the page has those below it."),
});

const sequenceQuery = z.strictObject({
  limit: limitParameter.meta({ description: "Entries of one page." }),
  after: z
    .string()
    .regex(/^\d{1,18}$/, "must be the number of an entry")
    .optional()
    .meta({ description: "Number of the last entry seen: the page has those behind it." }),
});

export type RootsPartSettings = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  /** Requests of one address. */
  readonly limit: RateLimit;
};

export const rootsPart = ({ db, limit }: RootsPartSettings): Part => ({
  name: "roots",
  paths: [
    { path: ROOTS_PATH, about: "signed roots of cap tables: GET with coinType" },
    { path: HEADS_PATH, about: "signed heads of the log's hash chain" },
    { path: SEQUENCE_PATH, about: "what was signed, each entry with the hash of the one before" },
    { path: KEYS_PATH, about: "public keys that roots, statements and log heads are signed with" },
  ],
  register: (app: App) => {
    app.addHook("onRequest", async ({ ip }, reply) => {
      const counted = limit.take(ip);
      if (!counted.allowed) throw limit.refusal(counted);
      reply.headers(limit.headers(counted));
    });
    app.get(ROOTS_PATH, async ({ query }): Promise<z.infer<typeof rootsAnswer>> => {
      const { version, ...asked } = readParameters(rootsQuery, query);
      const { coinType } = await resolveCoin(db, canonical(asked.coinType));
      const page = {
        coinType,
        checkpoint: numberOf(asked.checkpoint),
        before: numberOf(asked.after),
        limit: asked.limit,
      };
      const read = version === "2" ? publishedRoots2 : publishedRootsOf;
      const roots = await read(db, page);
      const next = roots.length < asked.limit ? null : (roots.at(-1)?.checkpoint ?? null);
      return { roots: [...roots], next };
    });
    app.get(HEADS_PATH, async ({ query }): Promise<z.infer<typeof logHeadsAnswer>> => {
      const { limit: most, after } = readParameters(headsQuery, query);
      const found = await signedHeads(db.sql, most, numberOf(after));
      const heads = found.map(({ publicKey: _, checkpoint: number, ...head }) => ({
        checkpoint: `${number}`,
        ...head,
      }));
      const next = heads.length < most ? null : (heads.at(-1)?.checkpoint ?? null);
      return { chainId: await chainIdOf(db.sql), heads, next };
    });
    app.get(SEQUENCE_PATH, async ({ query }): Promise<z.infer<typeof sequenceAnswer>> => {
      const { limit: most, after } = readParameters(sequenceQuery, query);
      const entries = await entriesAfter(db, numberOf(after) ?? -1n, most);
      const next = entries.length < most ? null : (entries.at(-1)?.number ?? null);
      return { entries: [...entries], next };
    });
    app.get(KEYS_PATH, async (): Promise<z.infer<typeof deploymentKeysAnswer>> => {
      return { algorithm: "ed25519", keys: [...(await keyHistory(db)).keys] };
    });
    refuseOtherMethods(app, ROOTS_PATH, "roots are read by GET");
    refuseOtherMethods(app, HEADS_PATH, "heads are read by GET");
    refuseOtherMethods(app, SEQUENCE_PATH, "the sequence is read by GET");
    refuseOtherMethods(app, KEYS_PATH, "keys are read by GET");
  },
});

const numberOf = (text: string | undefined) => (text === undefined ? undefined : BigInt(text));

const canonical = (text: string): string => {
  try {
    return canonicalType(text);
  } catch (error) {
    if (error instanceof MoveTypeError) throw new HttpError(400, `coinType: ${error.message}`);
    throw error;
  }
};

const TAG = "Proofs";

const error = (description: string) => jsonAnswer(description, schemaRef("Error"));

const get = (operationId: string, summary: string, answer: object, more: object = {}) => ({
  get: {
    tags: [TAG],
    operationId,
    summary,
    security: [],
    ...more,
    responses: {
      200: answer,
      400: error("A parameter is missing, malformed, repeated or unknown; `details` names it."),
      405: error("Another method than those in `Allow`."),
      429: error("Too many requests of this address; `Retry-After` says how long to wait."),
      500: error("Something went wrong on our side."),
      503: error("Not now; `Retry-After` says when to ask again."),
    },
  },
});

/** What it adds to `/openapi.json`. */
export const rootsApi: ApiDescription = {
  tags: [{ name: TAG, description: "What a holder's statement is compared with." }],
  paths: {
    [ROOTS_PATH]: get(
      "publishedRoots",
      "Signed roots of a token's cap tables",
      jsonAnswer("A page.", schemaRef("PublishedRoots")),
      { parameters: describeParameters(rootsQuery) },
    ),
    [HEADS_PATH]: get(
      "logHeads",
      "Signed heads of the log's hash chain",
      jsonAnswer("A page.", schemaRef("LogHeads")),
      { parameters: describeParameters(headsQuery) },
    ),
    [SEQUENCE_PATH]: get(
      "sequence",
      "What was signed, in one sequence",
      jsonAnswer("A page.", schemaRef("Sequence")),
      { parameters: describeParameters(sequenceQuery) },
    ),
    [KEYS_PATH]: get(
      "deploymentKeys",
      "Public keys that roots, statements and heads of the log are signed with",
      jsonAnswer("The keys.", schemaRef("DeploymentKeys")),
    ),
  },
  components: {
    schemas: {
      PublishedRoots: jsonSchema(rootsAnswer),
      LogHeads: jsonSchema(logHeadsAnswer),
      Sequence: jsonSchema(sequenceAnswer),
      DeploymentKeys: jsonSchema(deploymentKeysAnswer),
    },
    securitySchemes: {},
  },
};
