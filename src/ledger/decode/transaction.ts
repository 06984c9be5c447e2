import type {
  Event,
  OutputObject,
  PublishedPackage,
  RemovedObject,
  Transaction,
} from "./checkpoint.ts";
import type { Cursor } from "./cursor.ts";
import type { Effects, Input, Write } from "./effects.ts";
import { type ObjectSpan, toOutputObject, toPublishedPackage, toRemovedObject } from "./object.ts";
import type { ObjectIndex } from "./object-index.ts";
import type { ContentsEntry } from "./summary.ts";
import {
  readIdentifier,
  readObjectTypeHead,
  readStructTag,
  readTypeHead,
  skipStructTag,
  type TypeHead,
} from "./type-tag.ts";
import type { Verifier } from "./verify.ts";

/** Bytes `start` to `end`, excluded. */
export type Span = { readonly start: number; readonly end: number };

/** Parts of a transaction, from either encoding. */
type TransactionParts = {
  /** Index inside the checkpoint, from 0. */
  readonly index: number;
  readonly entry: ContentsEntry;
  /** BCS of `TransactionData`. */
  readonly data: Span;
  /** Offset of the sender's address. */
  readonly senderAt: number;
  readonly effects: Effects;
  /** BCS of `TransactionEffects`. */
  readonly effectsSpan: Span;
  /** BCS of `TransactionEvents`; null when absent. */
  readonly events: Span | null;
  /** Contains the changed and removed objects. */
  readonly inputs: ObjectIndex;
  /** Contains the written objects. */
  readonly outputs: ObjectIndex;
};

export type Reading = {
  /** Types to read; all when undefined. */
  readonly wanted: Wanted | undefined;
  readonly verifier: Verifier;
  /** Whether transactions may be empty. */
  readonly isExcerpt?: boolean;
};

/**
 * Checks that a transaction's parts belong together and reads what is wanted.
 *
 * Objects written and removed, and their order, come from the effects alone, which digests cover
 * and which are equal in both encodings.
 */
export const readTransaction = (
  cursor: Cursor,
  parts: TransactionParts,
  reading: Reading,
): Transaction => {
  const { at } = cursor;
  checkParts(cursor, parts, reading.verifier);
  const transaction = {
    digest: cursor.digestText(parts.entry.transactionAt),
    sender: cursor.address(parts.senderAt),
    events: readPartEvents(cursor, parts, reading.wanted),
    ...readOutputs(cursor, parts, reading),
    removedObjects: readRemoved(cursor, parts, reading),
  };
  cursor.at = at;
  return transaction;
};

const checkParts = (cursor: Cursor, parts: TransactionParts, verifier: Verifier): void => {
  const { index, entry, data, effects, effectsSpan, events } = parts;
  const { transactionAt, effectsAt } = entry;
  const claim = { transaction: index };
  verifier.claim(cursor, {
    ...claim,
    of: "TransactionData",
    ...data,
    expectedAt: transactionAt,
  });
  verifier.claim(cursor, {
    ...claim,
    of: "TransactionEffects",
    ...effectsSpan,
    effects,
    expectedAt: effectsAt,
  });
  if (!cursor.same32(effects.transactionAt, transactionAt)) {
    cursor.fail(`effects of another transaction than transaction ${index}`, effects.transactionAt);
  }
  if (effects.eventsAt === null) return;
  if (events === null) {
    cursor.fail(`the events of transaction ${index} are missing`, effectsSpan.start);
  }
  verifier.claim(cursor, {
    ...claim,
    of: "TransactionEvents",
    ...events,
    expectedAt: effects.eventsAt,
  });
};

const readPartEvents = (cursor: Cursor, parts: TransactionParts, wanted: Wanted | undefined) => {
  const { index, effects, events } = parts;
  if (events === null) return [];
  return cursor.part(
    () => "the events",
    events.start,
    events.end,
    (at) => {
      if (effects.eventsAt === null && at.bytes[at.at] !== 0) {
        at.fail(`transaction ${index} has events, but its effects name none`);
      }
      return readEvents(at, wanted);
    },
  );
};

const readOutputs = (
  cursor: Cursor,
  parts: TransactionParts,
  { wanted, verifier }: Reading,
): Pick<Transaction, "outputObjects" | "packages"> => {
  const outputObjects: OutputObject[] = [];
  const packages: PublishedPackage[] = [];
  for (const write of parts.effects.writes) {
    const span = parts.outputs.find(write.idAt, write.versionAt) ?? missing(cursor, parts, write);
    claimObject(cursor, parts, span, write.digestAt, verifier);
    if (span.kind === "package") packages.push(toPublishedPackage(cursor, span));
    else if (isWanted(cursor, span, wanted)) {
      const before = parts.effects.inputs.find(({ idAt }) => cursor.same32(idAt, write.idAt));
      outputObjects.push(toOutputObject(cursor, span, before));
    }
  }
  return { outputObjects, packages };
};

const readRemoved = (
  cursor: Cursor,
  parts: TransactionParts,
  { wanted, verifier }: Reading,
): readonly RemovedObject[] => {
  const objects: RemovedObject[] = [];
  for (const input of parts.effects.inputs) {
    if (!input.removed && !verifier.inputs) continue;
    const span = parts.inputs.find(input.idAt, input.versionAt) ?? missing(cursor, parts, input);
    if (input.digestAt !== null) claimObject(cursor, parts, span, input.digestAt, verifier);
    if (input.removed && isWanted(cursor, span, wanted)) {
      objects.push(toRemovedObject(cursor, span));
    }
  }
  return objects;
};

const claimObject = (
  cursor: Cursor,
  parts: TransactionParts,
  { start, end, idAt }: ObjectSpan,
  expectedAt: number,
  verifier: Verifier,
): void => {
  verifier.claim(cursor, { of: "Object", transaction: parts.index, idAt, start, end, expectedAt });
};

const isWanted = (cursor: Cursor, span: ObjectSpan, wanted: Wanted | undefined): boolean => {
  if (span.kind === "package") return false;
  if (wanted === undefined) return true;
  cursor.at = span.typeAt;
  return wanted(readObjectTypeHead(cursor));
};

const missing = (cursor: Cursor, parts: TransactionParts, { idAt, versionAt }: Write | Input) =>
  cursor.fail(
    `object ${cursor.address(idAt)} version ${cursor.u64At(versionAt)}, named by the effects of transaction ${parts.index}, is missing`,
    idAt,
  );

/** Filters events and objects by the head of their type. */
export type Wanted = (type: TypeHead) => boolean;

/** Reads `TransactionEvents`. Filtered events keep their index. */
const readEvents = (cursor: Cursor, wanted: Wanted | undefined): readonly Event[] => {
  const events: Event[] = [];
  const count = cursor.length();
  for (let index = 0; index < count; index++) {
    const event = wanted === undefined || isNext(cursor, wanted);
    if (event) events.push(readEvent(cursor, index));
    else skipEvent(cursor);
  }
  return events;
};

/** Whether the next event is wanted; does not move the cursor. */
const isNext = (cursor: Cursor, wanted: Wanted): boolean => {
  const start = cursor.at;
  cursor.skip(32);
  cursor.skipBytes();
  cursor.skip(32);
  const answer = wanted(readTypeHead(cursor));
  cursor.at = start;
  return answer;
};

const readEvent = (cursor: Cursor, index: number): Event => {
  const packageId = cursor.address(cursor.skip(32));
  const module = readIdentifier(cursor);
  const sender = cursor.address(cursor.skip(32));
  const type = readStructTag(cursor);
  const start = cursor.skipBytes();
  return { index, packageId, module, sender, type, contents: cursor.copy(start, cursor.at) };
};

const skipEvent = (cursor: Cursor): void => {
  cursor.skip(32);
  cursor.skipBytes();
  cursor.skip(32);
  skipStructTag(cursor);
  cursor.skipBytes();
};
