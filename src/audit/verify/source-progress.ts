/**
 * Progress of a reading of the ledger, so that a killed one resumes: in a file of DATA_DIR, because the database is what
 * the reading checks.
 */
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import type { SourceRead } from "./source-reading.ts";

const whole = z
  .string()
  .regex(/^-?\d{1,19}$/)
  .transform(BigInt);

const kept = z.object({
  format: z.literal("holderbook-source-reading-v1"),
  /** Identifies the reading. */
  of: z.record(z.string(), z.string()),
  began: z.iso.datetime(),
  end: z.object({ sequence: whole, digest: z.string() }).nullable(),
  found: z.object({
    first: whole,
    last: whole,
    checkpoints: z.int(),
    facts: z.int(),
    signatures: z.int(),
    faults: z.array(z.object({ checkpoint: whole, what: z.string(), facts: z.array(z.string()) })),
    gaps: z.array(z.object({ from: whole, to: whole, why: z.string() })),
  }),
});

export type KeptReading = {
  /** When it began: perhaps in a process that was killed. */
  readonly began: Date;
  /** What that had found. */
  readonly resumed: SourceRead | null;
  keep(read: SourceRead): Promise<void>;
  /** Removes the file. */
  end(): Promise<void>;
};

/**
 * Opens the reading that the file is of, or begins one: also where the file is of another.
 * @param file undefined: nothing is kept
 * @param of identifies the reading, by name
 * @param last checkpoint to read to; one that came further is not resumed
 */
export const keptReading = async (
  file: string | undefined,
  of: Readonly<Record<string, string>>,
  last: bigint,
): Promise<KeptReading> => {
  const saved = await savedIn(file);
  const isSame =
    saved !== null &&
    Object.entries(of).every(([name, value]) => saved.of[name] === value) &&
    saved.found.last <= last;
  const began = isSame ? new Date(saved.began) : new Date();
  return {
    began,
    resumed: isSame ? saved : null,
    keep: async ({ found, end }) => {
      if (file === undefined) return;
      const state = { format: "holderbook-source-reading-v1", of, began, end, found };
      const text = JSON.stringify(state, (_name, value: unknown) =>
        typeof value === "bigint" ? `${value}` : value,
      );
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    end: async () => {
      if (file !== undefined) await rm(file, { force: true });
    },
  };
};

/** Null also where another program wrote the file: the reading begins again. */
const savedIn = async (file: string | undefined) => {
  if (file === undefined) return null;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return kept.parse(JSON.parse(text));
  } catch {
    return null;
  }
};
