/**
 * Progress of a reading of the ledger, so that a killed one resumes: in a file of DATA_DIR, because the database is what
 * the reading checks. Signed, because the signed record goes by it.
 */
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import { canonicalJson } from "../../../client/canonical-json.ts";
import { remedyOf } from "../../waiting/remedy.ts";
import { type DeploymentKey, isSigned } from "../sequence/deployment-key.ts";
import type { SourceRead } from "./source-reading.ts";

const whole = z
  .string()
  .regex(/^-?\d{1,19}$/)
  .transform(BigInt);

const signed = z.object({
  purpose: z.literal("holderbook-source-reading-v1"),
  state: z.string(),
  signature: z.string(),
});

const kept = z.object({
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
  key: DeploymentKey,
  of: Readonly<Record<string, string>>,
  last: bigint,
): Promise<KeptReading> => {
  const saved = await savedIn(file, key);
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
      const state = JSON.stringify({ of, began, end, found }, (_name, value: unknown) =>
        typeof value === "bigint" ? `${value}` : value,
      );
      const statement = { purpose: "holderbook-source-reading-v1", state };
      const signature = await key.sign(statement).catch((error: unknown) => {
        // The signer is away: the reading goes on, and the next one is kept.
        if (remedyOf(error) !== "retry") throw error;
      });
      if (signature === undefined) return;
      const text = JSON.stringify({ ...statement, signature: signature.signature });
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    end: async () => {
      if (file !== undefined) await rm(file, { force: true });
    },
  };
};

/** Null also where the key did not sign what is in the file: the reading begins again. */
const savedIn = async (file: string | undefined, { publicKey }: DeploymentKey) => {
  if (file === undefined) return null;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) return null;
  try {
    const { signature, ...statement } = signed.parse(JSON.parse(text));
    if (!isSigned(signature, canonicalJson(statement), publicKey)) return null;
    return kept.parse(JSON.parse(statement.state));
  } catch {
    return null;
  }
};
