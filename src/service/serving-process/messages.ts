/**
 * What `start` and the process that serves for it tell each other: over their channel, never on a
 * command line, because the database's URL holds a password. Structured clones, so bigints and maps
 * arrive as they were; each message is checked where it arrives.
 */
import { z } from "zod";
import { endpointSaid } from "../../evm/log/chain-notes.ts";
import type { Snapshot } from "../../http/health/indexing-process.ts";
import { assetsFile } from "../../settings/assets.ts";

const trouble = z.object({
  gaveUp: z.boolean(),
  reason: z.string(),
  sinceMs: z.number().optional(),
});

const chain = z.object({
  trouble: trouble.optional(),
  endpoints: z.array(endpointSaid),
  doubts: z.map(z.string(), z.array(z.string())),
});

const snapshot: z.ZodType<Snapshot> = z.object({
  progress: z.object({
    tip: z.bigint().nullable(),
    reader: trouble.optional(),
    pipelines: z.map(z.string(), trouble),
  }),
  evm: z.object({ chains: z.map(z.number(), chain), records: z.map(z.string(), trouble) }),
  unwritable: trouble.optional(),
  residentBytes: z.number(),
  cpuSeconds: z.number(),
  restarts: z.int(),
  figures: z.array(
    z.object({ name: z.string(), labels: z.array(z.string()), values: z.array(z.number()) }),
  ),
});

/** What serving needs besides the settings of the environment. */
const opening = z.object({
  databaseUrl: z.string(),
  /** Addresses of the security-token package, original first. */
  packages: z.array(z.string()),
  assets: assetsFile,
});

export type Opening = Readonly<z.infer<typeof opening>>;

/** To the process that serves. */
export const toServing = z.discriminatedUnion("kind", [
  /** The log is open: answer requests. */
  z.object({ kind: z.literal("open"), opening, snapshot }),
  z.object({ kind: z.literal("snapshot"), snapshot }),
]);

export type ToServing = z.infer<typeof toServing>;

/** From the process that serves. */
export const fromServing = z.discriminatedUnion("kind", [
  /** The port is bound; everything is answered 503. */
  z.object({ kind: z.literal("listening"), url: z.string(), port: z.int() }),
  /** Requests are answered. */
  z.object({ kind: z.literal("opened") }),
  /** It took a snapshot: its event loop comes round. */
  z.object({ kind: z.literal("alive") }),
  /** It ends now. */
  z.object({
    kind: z.literal("failed"),
    name: z.string(),
    message: z.string(),
    /** Whether its settings are what is wrong. */
    settings: z.boolean(),
    /** Whether another try may help. */
    passing: z.boolean(),
  }),
]);

export type FromServing = z.infer<typeof fromServing>;
