/**
 * Messages between `start` and its serving process: over their channel, not a command line, because
 * the database's URL holds a password. Structured clones keep bigints and maps; each is validated.
 */
import { z } from "zod";
import { endpointHealthSchema } from "../../evm/rpc/endpoint-health.ts";
import { assetsFile } from "../../settings/assets.ts";
import type { Snapshot } from "../health/snapshot.ts";

const trouble = z.object({
  gaveUp: z.boolean(),
  reason: z.string(),
  sinceMs: z.number().optional(),
});

const chain = z.object({
  trouble: trouble.optional(),
  endpoints: z.array(endpointHealthSchema),
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

/** What serving needs besides the environment's settings. */
const opening = z.object({
  databaseUrl: z.string(),
  /** Addresses of the security-token package, original first. */
  packages: z.array(z.string()),
  assets: assetsFile,
});

export type Opening = Readonly<z.infer<typeof opening>>;

/** To the serving process. */
export const toServing = z.discriminatedUnion("kind", [
  /** The log is open: answer requests. */
  z.object({ kind: z.literal("open"), opening, snapshot }),
  z.object({ kind: z.literal("snapshot"), snapshot }),
]);

export type ToServing = z.infer<typeof toServing>;

/** From the serving process. */
export const fromServing = z.discriminatedUnion("kind", [
  /** The port is bound; every request gets 503. */
  z.object({ kind: z.literal("listening"), url: z.string(), port: z.int() }),
  z.object({ kind: z.literal("opened") }),
  /** It handled a snapshot: its event loop runs. */
  z.object({ kind: z.literal("alive") }),
  z.object({
    kind: z.literal("failed"),
    name: z.string(),
    message: z.string(),
    /** The settings are wrong. */
    settings: z.boolean(),
    /** A retry may help. */
    passing: z.boolean(),
  }),
]);

export type FromServing = z.infer<typeof fromServing>;
