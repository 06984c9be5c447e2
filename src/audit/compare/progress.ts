/** Progress of a comparison: what it has compared and found, stored in a file so that it can resume. */
import { createHash, randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import type { Reads } from "../../database/readers.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { OtherDeployment, Register } from "./other-deployment.ts";
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

const savedState = z.object({
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

type State = z.infer<typeof savedState>;

/** The file does not belong to this comparison. Give another file, or remove this one. */
export class ResumeFileError extends Error {
  override readonly name = "ResumeFileError";
  readonly remedy: Remedy = "stop";
  /** As wrong usage: 1 is a difference. */
  readonly exitCode = 2;
}

export type Progress = {
  /** Last checkpoint compared; both deployments have it. */
  readonly through: bigint;
  readonly step: number;
  readonly cursor: string | undefined;
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly differences: readonly Difference[];
  /** Further differences, not listed. */
  readonly more: number;
  /** Queries the other one did not answer, with the reason. */
  readonly notAnswered: readonly string[];
  /** First checkpoint at which stored digests of a pipeline differ. */
  hintOf(pipeline: string): bigint | undefined;
  /** A random number below `below`, stable for a name within one comparison. */
  random(name: string, below: bigint): bigint;
  count(name: string, more: Partial<Tally>): void;
  add(differences: readonly Difference[]): void;
  addNotAnswered(text: string): void;
  hint(pipeline: string, checkpoint: bigint): void;
  /** @throws ResumeFileError (stop) when this deployment's rows changed since the comparison began */
  assertOwn(digests: string): void;
  /** Stores the current step and the place within it. */
  keep(step: number, cursor?: string): Promise<void>;
  /** Writes the last stored state to the file now. */
  flush(): Promise<void>;
  /** Done: removes the file. */
  end(): Promise<void>;
};

/** Both deployments, and the progress of comparing them. */
export type Compared = {
  readonly here: Register;
  readonly there: OtherDeployment;
  /** This deployment's database. */
  readonly on: Reads;
  /** Whether this deployment has a checkpoint; waits for one that is due. */
  readonly reaches: (checkpoint: bigint) => Promise<boolean>;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** First checkpoint in both logs. */
  readonly first: bigint;
  /** Whether both logs begin at the same checkpoint. */
  readonly sameFirst: boolean;
  /** Whether one of the logs was read guided: it knows the contract's checkpoints alone. */
  readonly isGuided: boolean;
  /** A checkpoint at or before this one that both logs have read. */
  readonly known: (checkpoint: bigint) => Promise<bigint>;
  readonly isFull: boolean;
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
  const saved = file === undefined ? undefined : await readState(file);
  const state: State = saved ?? {
    format: "holderbook-compare-v1",
    of: { ...of },
    through: `${begin}`,
    own: "",
    seed: randomBytes(16).toString("hex"),
    step: 0,
    cursor: null,
    tallies: {},
    differences: [],
    more: 0,
    notAnswered: [],
    hints: {},
  };
  for (const [name, own] of Object.entries(of)) {
    if (state.of[name] !== own) {
      throw new ResumeFileError(
        `${file} is of another comparison: ${name} was ${state.of[name]}, and is ${own} now; give another file, or remove this one`,
      );
    }
  }
  const { differences, notAnswered, tallies, hints } = state;
  let text = "";
  let writtenAt = Number.NEGATIVE_INFINITY;

  const write = async () => {
    if (file === undefined || text === "") return;
    writtenAt = performance.now();
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  };

  return {
    through: BigInt(state.through),
    get step() {
      return state.step;
    },
    get cursor() {
      return state.cursor ?? undefined;
    },
    get tallies() {
      return new Map(Object.entries(tallies));
    },
    differences,
    get more() {
      return state.more;
    },
    notAnswered,
    random: (name, below) => {
      const bytes = createHash("sha512").update(`${state.seed} ${name}`).digest("hex");
      return BigInt(`0x${bytes}`) % below;
    },
    count: (name, { rows = 0, lists = 0, inPart = 0 }) => {
      const tally = tallies[name] ?? { rows: 0, lists: 0, inPart: 0 };
      tally.rows += rows;
      tally.lists += lists;
      tally.inPart += inPart;
      tallies[name] = tally;
    },
    add: (found) => {
      const room = MOST_DIFFERENCES - differences.length;
      differences.push(...found.slice(0, room));
      state.more += Math.max(0, found.length - room);
    },
    addNotAnswered: (reason) => {
      if (notAnswered.length < MOST_NOT_ANSWERED) notAnswered.push(reason);
    },
    hintOf: (pipeline) => {
      const at = hints[pipeline];
      return at === undefined ? undefined : BigInt(at);
    },
    hint: (pipeline, checkpoint) => {
      hints[pipeline] = `${checkpoint}`;
    },
    assertOwn: (digests) => {
      if (saved !== undefined && state.own !== digests) {
        throw new ResumeFileError(
          `this deployment's rows changed since ${file} was written; remove it and begin again`,
        );
      }
      state.own = digests;
    },
    keep: async (step, cursor) => {
      state.step = step;
      state.cursor = cursor ?? null;
      if (file === undefined) return;
      text = JSON.stringify(state);
      if (performance.now() - writtenAt >= KEEP_EVERY_MS) await write();
    },
    flush: write,
    end: async () => {
      if (file !== undefined) await rm(file, { force: true });
    },
  };
};

const readState = async (file: string): Promise<State | undefined> => {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return savedState.parse(JSON.parse(text));
  } catch {
    throw new ResumeFileError(
      `${file} is not a file that compare wrote; give another one, or remove it`,
    );
  }
};
