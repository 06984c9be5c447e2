import type { Event } from "./checkpoint.ts";
import type { Cursor } from "./cursor.ts";
import {
  readIdentifier,
  readStructTag,
  readTypeHead,
  skipStructTag,
  type TypeHead,
} from "./type-tag.ts";

/** Filters events and objects by the head of their type. */
export type Wanted = (type: TypeHead) => boolean;

/** Reads `TransactionEvents`. Filtered events keep their index. */
export const readEvents = (cursor: Cursor, wanted: Wanted | undefined): readonly Event[] => {
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
