/** Files of saved heads and sequence entries. */
import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import type { Remedy } from "../../waiting/remedy.ts";

/**
 * A file of kept heads cannot be read as such. Nothing was checked with it: give a file as the
 * message describes it.
 */
export class KeptHeadsError extends Error {
  override readonly name = "KeptHeadsError";
  readonly remedy: Remedy = "stop";
  /** As for wrong usage: 1 is a finding. */
  readonly exitCode = 2;

  constructor(path: string, what: string) {
    super(
      `${path}: ${what}; it must hold heads as GET /log-heads gives them, or entries of the sequence, as JSON or one a line`,
    );
  }
}

const decimal = z.string().regex(/^\d{1,18}$/);

/** Optional in a file. */
const signed = {
  keyId: z
    .string()
    .regex(/^[0-9A-Za-z_-]{1,100}$/)
    .optional(),
  signature: z.string().optional(),
};

const headForm = z.object({
  ...signed,
  chainId: z.string().nullish(),
  checkpoint: decimal,
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

/** A sequence entry by its members; their canonical form is not checked. */
export const entryForm = z.object({
  ...signed,
  number: decimal,
  previous: z.string().regex(/^[0-9a-f]{64}$/),
  kind: z.string(),
  body: z.record(z.string(), z.json()),
  at: z.string(),
});

/** A saved head or entry, and its place. */
export type Kept = z.infer<typeof entryForm> & { readonly name: string; readonly isHead: boolean };

const MOST_BYTES = 64 * 1024 * 1024;

/** @throws KeptHeadsError (stop) */
export const readKept = async (path: string): Promise<readonly Kept[]> =>
  (await keptValues(path)).map((value, place) => keptOf(path, place, value));

/** Values in a file of heads or entries, not validated. @throws KeptHeadsError (stop) */
export const keptValues = async (path: string): Promise<readonly unknown[]> => {
  const about = await stat(path).catch((error: Error) => {
    throw new KeptHeadsError(path, `cannot be read (${error.message})`);
  });
  if (!about.isFile()) throw new KeptHeadsError(path, "is no file");
  if (about.size > MOST_BYTES) throw new KeptHeadsError(path, `has more than ${MOST_BYTES} bytes`);
  const found = documentsIn(path, await readFile(path, "utf8")).flatMap(partsOf);
  if (found.length === 0) throw new KeptHeadsError(path, "is empty");
  return found;
};

const keptOf = (path: string, place: number, value: unknown): Kept => {
  const name = `${path}, number ${place + 1}`;
  const entry = entryForm.safeParse(value);
  if (entry.success) {
    return { ...entry.data, name: `${name} (entry ${entry.data.number})`, isHead: false };
  }
  const head = headForm.safeParse(value);
  if (!head.success) throw new KeptHeadsError(name, "is neither a head nor an entry");
  const { chainId = "", checkpoint, hash, ...signer } = head.data;
  const body = { chainId, checkpoint, hash };
  const at = { number: "0", previous: "", at: "" };
  return { ...at, ...signer, kind: "head", body, name: `${name} (head)`, isHead: true };
};

const documentsIn = (path: string, text: string): readonly unknown[] => {
  try {
    return [JSON.parse(text)];
  } catch {
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line, at): unknown => {
        try {
          return JSON.parse(line);
        } catch {
          throw new KeptHeadsError(path, `line ${at + 1} is no JSON`);
        }
      });
  }
};

const partsOf = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value;
  const page = z
    .union([
      z.object({ heads: z.array(z.unknown()), chainId: z.string().nullish() }),
      z.object({ entries: z.array(z.unknown()) }),
    ])
    .safeParse(value);
  if (!page.success) return [value];
  return "entries" in page.data ? page.data.entries : page.data.heads;
};
