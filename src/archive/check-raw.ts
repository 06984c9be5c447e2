/** Compares raw checkpoints with the chunk of the log that they belong to. */
import { join } from "node:path";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../ledger/decode/decode.ts";
import {
  type CheckpointReader,
  createCheckpointReader,
  isOfFramework,
} from "../ledger/reading/read.ts";
import { countOf, markIn } from "../log/block.ts";
import type { AppendBatch, CheckpointMark, JoinedPackage, ReadFact } from "../log/fact.ts";
import { ARCHIVE_START, placesAfter } from "./chain-places.ts";
import { ArchiveDamagedError, type Manifest, type RawFile, type RawKept } from "./manifest.ts";
import { readRawFile } from "./read-raw.ts";

/** Checkpoints of a chunk that an archive keeps raw, ascending. */
export const keptIn = (
  { first, last, blocks, facts, joined = [], committees = [] }: AppendBatch,
  keeps: RawKept["keeps"],
): readonly bigint[] => {
  if (keeps === "all") {
    return blocks.flatMap((piece) =>
      Array.from({ length: countOf(piece) ?? 0 }, (_, place) => piece.first + BigInt(place)),
    );
  }
  const named = committees.flatMap(({ namedBy }) =>
    namedBy !== null && namedBy >= first && namedBy <= last.sequence ? [namedBy] : [],
  );
  const kept = [...facts, ...joined].map(({ checkpoint }) => checkpoint);
  // The ends of epochs lead from one committee to the next.
  return [...new Set([...kept, ...named])].toSorted((a, b) => (a < b ? -1 : 1));
};

export type RawCheck = {
  /** The difference between a checkpoint and the log, null without one. Call it in order. */
  faultIn(batch: AppendBatch, raw: RawCheckpoint): string | null;
  /** Goes on after a chunk. */
  after(batch: AppendBatch): void;
};

export const createRawCheck = ({ packages }: Pick<Manifest, "packages">): RawCheck => {
  const known = [...packages];
  let read: CheckpointReader = createCheckpointReader(known);
  const join = (joined: readonly JoinedPackage[]) => {
    const fresh = joined.map(({ address }) => address).filter((each) => !known.includes(each));
    if (fresh.length === 0) return;
    known.push(...fresh);
    read = createCheckpointReader(known);
  };
  return {
    faultIn: (batch, raw) => {
      const { sequence } = raw;
      const { mark, facts, joined, skipped } = read(raw);
      // A changed byte can hide an address from the prefilter.
      if (skipped) decodeCheckpoint(raw, () => false);
      const own = markIn(batch.blocks, sequence);
      if (own === null) return "the log has not read it";
      if (mark.sequence !== sequence || mark.digest !== own.digest) {
        return `it is checkpoint ${mark.sequence} of digest ${mark.digest}, but the log has ${own.digest}`;
      }
      const inLog = batch.facts.filter(({ checkpoint }) => checkpoint === sequence);
      const due = batch.guided ? withoutForeign(facts, inLog) : facts;
      if (hashOf(mark, due) !== hashOf(own, inLog)) {
        return `it has ${due.length} facts, which are not the ${inLog.length} of the log`;
      }
      const published = joined.map(({ address }) => address).join();
      const inBatch = (batch.joined ?? []).filter(({ checkpoint }) => checkpoint === sequence);
      if (published !== inBatch.map(({ address }) => address).join()) {
        return `it publishes the packages ${published || "none"}, but the log has others`;
      }
      join(joined);
      return null;
    },
    after: ({ joined = [] }) => join(joined),
  };
};

/** Guided reading keeps the metadata of the contract's coins alone. */
const withoutForeign = (facts: readonly ReadFact[], inLog: readonly ReadFact[]) => {
  const place = ({ transaction, kind, index }: ReadFact) => `${transaction} ${kind} ${index}`;
  const kept = new Set(inLog.map(place));
  return facts.filter((fact) => !isOfFramework(fact) || kept.has(place(fact)));
};

const NOWHERE = { facts: ARCHIVE_START, blocks: ARCHIVE_START, inputs: ARCHIVE_START };

/** Of facts, time, digest and input versions. */
const hashOf = (mark: CheckpointMark, facts: readonly ReadFact[]): string => {
  const batch = { first: mark.sequence, last: mark, marks: [mark], facts, blocks: [] };
  const { facts: hash, inputs } = placesAfter(NOWHERE, batch);
  return `${hash} ${inputs}`;
};

export type RawFilesCheck = {
  /**
   * Checks the files of the next chunk's raw checkpoints: every one that is due, and no other.
   * @throws ArchiveDamagedError (stop)
   */
  check(batch: AppendBatch): Promise<void>;
  /** Checked so far. */
  readonly checkpoints: number;
};

export const createRawFilesCheck = (folder: string, manifest: Manifest): RawFilesCheck => {
  const { raw } = manifest;
  const check = createRawCheck(manifest);
  const files = [...(raw?.files ?? [])];
  let checkpoints = 0;
  const checkFile = async (file: RawFile, batch: AppendBatch): Promise<readonly bigint[]> => {
    const found = await readRawFile(folder, file);
    for (const each of found) {
      const what = faultIn(check, batch, each);
      if (what === null) continue;
      throw new ArchiveDamagedError(
        join(folder, file.name),
        `raw checkpoint ${each.sequence}: ${what}`,
        EXPORT_AGAIN,
      );
    }
    checkpoints += found.length;
    return found.map(({ sequence }) => sequence);
  };
  return {
    check: async (batch) => {
      if (raw === null) return;
      const found: bigint[] = [];
      for (let file = files[0]; file !== undefined; file = files[0]) {
        if (file.first > batch.last.sequence) break;
        if (file.last > batch.last.sequence) {
          const what = `it reaches over checkpoint ${batch.last.sequence}, where a chunk of the log ends`;
          throw new ArchiveDamagedError(join(folder, file.name), what, EXPORT_AGAIN);
        }
        found.push(...(await checkFile(file, batch)));
        files.shift();
      }
      const due = keptIn(batch, raw.keeps).filter((sequence) => sequence < raw.next);
      const wrong = due.find((sequence, n) => sequence !== found[n]) ?? found[due.length];
      if (wrong !== undefined) {
        const what = `raw checkpoint ${wrong} is ${due.includes(wrong) ? "missing" : "not one that it keeps"}`;
        throw new ArchiveDamagedError(folder, what, EXPORT_AGAIN);
      }
      check.after(batch);
    },
    get checkpoints() {
      return checkpoints;
    },
  };
};

const EXPORT_AGAIN = { advice: "do not use this archive; export it again from the log" };

const faultIn = (check: RawCheck, batch: AppendBatch, raw: RawCheckpoint): string | null => {
  try {
    return check.faultIn(batch, raw);
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
};
