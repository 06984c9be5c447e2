/** Progress of a comparison: what it has compared and found, stored in a file so that it can resume. */
import { createHash, randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import type { Remedy } from "../../waiting/remedy.ts";
import type { Difference } from "./rows.ts";
import { rowShape } from "./served-rows.ts";

/** Counts for one kind of row. */
export type Tally = {
  readonly rows: number;
  /** Lists of this kind, one per coin or checkpoint, and how many were read only in part. */
  readonly lists: number;
  readonly inPart: number;
};

/** Differences listed individually. */
const MOST_DIFFERENCES = 100;

const kept = z.object({
  format: z.literal("holderbook-compare-v1"),
  /** Identifies the comparison: another one's file is refused. */
  of: z.record(z.string(), z.string()),
  through: z.string().regex(/^\d{1,18}$/),
  /** This deployment's digests at that checkpoint. */
  own: z.string(),
  /** Seed of all random picks. */
  seed: z.string().regex(/^[0-9a-f]{32}$/),
  step: z.int().min(0),
  cursor: z.string().nullable(),
  tallies: z.record(z.string(), z.object({ rows: z.int(), lists: z.int(), inPart: z.int() })),
  differences: z
    .array(
      z.object({
        what: z.string(),
        coinType: z.string().nullable(),
        row: z.string(),
        here: rowShape.nullable(),
        there: rowShape.nullable(),
      }),
    )
    .max(MOST_DIFFERENCES),
  more: z.int(),
  notAnswered: z.array(z.string()),
  hints: z.record(z.string(), z.string().regex(/^\d{1,18}$/)),
});

type Kept = z.infer<typeof kept>;

/** The file does not belong to this comparison. Give another file, or remove this one. */
export class ResumeFileError extends Error {
  override readonly name = "ResumeFileError";
  readonly remedy: Remedy = "stop";
  /** As wrong usage: 1 is a difference. */
  readonly exitCode = 2;
}

export type Progress = {
  readonly through: bigint;
  readonly step: number;
  readonly cursor: string | undefined;
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly differences: readonly Difference[];
  /** Further differences, not listed. */
  readonly more: number;
  /** Queries the other one did not answer, with the reason. */
  readonly notAnswered: readonly string[];
  /** First checkpoint at which stored digests differ, by pipeline. */
  readonly hints: ReadonlyMap<string, bigint>;
  /** A random number below `below`, stable for a name within one comparison. */
  random(name: string, below: bigint): bigint;
  count(name: string, more: Partial<Tally>): void;
  add(differences: readonly Difference[]): void;
  addNotAnswered(text: string): void;
  hint(pipeline: string, checkpoint: bigint): void;
  /** @throws ResumeFileError (stop) when this deployment's rows changed since the comparison began */
  assertOwn(digests: string): void;
  /** Stores the current step and the place within it. */
  keep(step: number, cursor: string | undefined): Promise<void>;
  /** Writes the last stored state to the file now. */
  flush(): Promise<void>;
  /** Done: removes the file. */
  end(): Promise<void>;
};

/** Unanswered queries listed at most. */
const MOST_NOT_ANSWERED = 100;

/** A killed run repeats at most this much work. */
const KEEP_EVERY_MS = 1_000;

/**
 * Starts a comparison, or resumes the one in the file.
 * @param file undefined: progress is not stored
 * @param of identifies the comparison, by name
 * @param begin last checkpoint of a new comparison
 * @throws ResumeFileError (stop)
 */
export const openProgress = async (
  file: string | undefined,
  of: Readonly<Record<string, string>>,
  begin: bigint,
): Promise<Progress> => {
  const found = file === undefined ? undefined : await readKept(file);
  if (found !== undefined) {
    for (const [name, own] of Object.entries(of)) {
      if (found.of[name] !== own) {
        throw new ResumeFileError(
          `${file} is of another comparison: ${name} was ${found.of[name]}, and is ${own} now; give another file, or remove this one`,
        );
      }
    }
  }
  const through = found === undefined ? begin : BigInt(found.through);
  const seed = found?.seed ?? randomBytes(16).toString("hex");
  let [step, cursor] = [found?.step ?? 0, found?.cursor ?? undefined];
  const tallies = new Map<string, Tally>(Object.entries(found?.tallies ?? {}));
  const differences: Difference[] = [...(found?.differences ?? [])];
  const notAnswered = [...(found?.notAnswered ?? [])];
  const hints = new Map(
    Object.entries(found?.hints ?? {}).map(([name, at]) => [name, BigInt(at)] as const),
  );
  let more = found?.more ?? 0;
  let own = found?.own;
  let text = "";
  let writtenAt = Number.NEGATIVE_INFINITY;

  const write = async () => {
    if (file === undefined || text === "") return;
    writtenAt = performance.now();
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  };

  return {
    through,
    get step() {
      return step;
    },
    get cursor() {
      return cursor;
    },
    tallies,
    differences,
    get more() {
      return more;
    },
    notAnswered,
    hints,
    random: (name, below) => {
      const bytes = createHash("sha512").update(`${seed} ${name}`).digest("hex");
      return BigInt(`0x${bytes}`) % below;
    },
    count: (name, { rows = 0, lists = 0, inPart = 0 }) => {
      const before = tallies.get(name) ?? { rows: 0, lists: 0, inPart: 0 };
      tallies.set(name, {
        rows: before.rows + rows,
        lists: before.lists + lists,
        inPart: before.inPart + inPart,
      });
    },
    add: (found) => {
      const room = MOST_DIFFERENCES - differences.length;
      differences.push(...found.slice(0, room));
      more += Math.max(0, found.length - room);
    },
    addNotAnswered: (reason) => {
      if (notAnswered.length < MOST_NOT_ANSWERED) notAnswered.push(reason);
    },
    hint: (pipeline, checkpoint) => hints.set(pipeline, checkpoint),
    assertOwn: (digests) => {
      if (own !== undefined && own !== digests) {
        throw new ResumeFileError(
          `this deployment's rows changed since ${file} was written; remove it and begin again`,
        );
      }
      own = digests;
    },
    keep: async (nextStep, nextCursor) => {
      [step, cursor] = [nextStep, nextCursor];
      if (file === undefined) return;
      const state: Kept = {
        format: "holderbook-compare-v1",
        of: { ...of },
        through: `${through}`,
        own: own ?? "",
        seed,
        step,
        cursor: cursor ?? null,
        tallies: Object.fromEntries(tallies),
        differences: [...differences],
        more,
        notAnswered,
        hints: Object.fromEntries([...hints].map(([name, at]) => [name, `${at}`])),
      };
      text = JSON.stringify(state);
      if (performance.now() - writtenAt >= KEEP_EVERY_MS) await write();
    },
    flush: write,
    end: async () => {
      if (file !== undefined) await rm(file, { force: true });
    },
  };
};

const readKept = async (file: string): Promise<Kept | undefined> => {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return kept.parse(JSON.parse(text));
  } catch {
    throw new ResumeFileError(
      `${file} is not a file that compare wrote; give another one, or remove it`,
    );
  }
};
