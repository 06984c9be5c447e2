/** Reads a range of checkpoints as the reader does, without appending it. */

import type { ListedRange } from "../ledger/history/ledger-index.ts";
import { createGathering, type GatheredBatch } from "../ledger/reading/gathering.ts";
import { gather } from "../ledger/reading/pass.ts";
import { readerAt } from "../ledger/reading/read.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import { createContact } from "../ledger/sources/source-contact.ts";
import type { VerifyLevel } from "../settings/values.ts";
import { noTelemetry } from "../telemetry/telemetry.ts";

export type ReadRange = GatheredBatch & {
  /** Digest that its first checkpoint names; null for the chain's first. */
  readonly previousDigest: string | null;
  /** How its checkpoints were checked. */
  readonly level: VerifyLevel;
  /** Packages whose facts it has, without those that join in it. */
  readonly packages: readonly string[];
};

/** The whole range is one batch. */
const NO_BOUNDS = {
  facts: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
  checkpoints: Number.POSITIVE_INFINITY,
  ageMs: Number.POSITIVE_INFINITY,
};

/** Repeated fetches of an undecodable checkpoint. */
const REFETCHES = 2;

/**
 * Reads a range into memory: its facts, and 40 bytes per checkpoint. Checks digests and links
 * inside the range; signatures are the business of who appends it.
 * @throws errors of the source and decoding
 */
export const readRange = async (
  {
    source,
    level,
    packages,
    range,
  }: {
    readonly source: CheckpointSource;
    readonly level: VerifyLevel;
    readonly packages: readonly string[];
    readonly range: ListedRange;
  },
  signal: AbortSignal,
): Promise<ReadRange> => {
  const gathering = createGathering(NO_BOUNDS);
  const readerOf = readerAt(level);
  let previousDigest: string | null | undefined;
  await gather(
    {
      ...range,
      ...{ source, packages, level, refetches: REFETCHES, previousDigest: null },
      contact: createContact(),
      telemetry: noTelemetry(),
      read: (all) => {
        const read = readerOf(all);
        return (raw) => {
          const checkpoint = read(raw);
          if (raw.sequence === range.first) ({ previousDigest } = checkpoint);
          return checkpoint;
        };
      },
    },
    gathering,
    signal,
  );
  signal.throwIfAborted();
  const gathered = await gathering.take(() => 0, signal);
  if (gathered === null || previousDigest === undefined) throw new Error("a range is empty");
  return { ...gathered, level, previousDigest, packages };
};
