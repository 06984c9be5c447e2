/** Postgres wire messages, as far as needed to know whether an answer is due. */

/** Type (1 byte) and length (4 bytes, without the type). */
const HEADER_BYTES = 5;

/**
 * Walks a stream of messages in any pieces; keeps none.
 *
 * @param first a client's first message has no type; reported as type 0
 * @param each called with the type, the piece that completed the header, and the body's offset in
 * it
 */
const walkMessages = (
  first: "typed" | "untyped",
  each: (type: number, piece: Uint8Array, body: number) => void,
): ((piece: Uint8Array) => void) => {
  let seen = first === "untyped" ? 1 : 0;
  let type = 0;
  let length = 0;
  let left = 0;
  return (piece) => {
    for (let at = 0; at < piece.length; ) {
      if (left > 0) {
        const step = Math.min(left, piece.length - at);
        left -= step;
        at += step;
        continue;
      }
      const byte = piece[at] ?? 0;
      at += 1;
      if (seen === 0) type = byte;
      else length = length * 256 + byte;
      seen += 1;
      if (seen < HEADER_BYTES) continue;
      // The length includes its own four bytes.
      left = Math.max(0, length - 4);
      each(type, piece, at);
      seen = 0;
      length = 0;
    }
  };
};

/** Whether the server owes an answer, and its process id. */
type Owed = {
  readonly isOwed: boolean;
  /** As sent by the server; undefined before. Some poolers invent it. */
  readonly pid: number | undefined;
  sent(piece: Uint8Array): void;
  received(piece: Uint8Array): void;
};

const type = (letter: string) => letter.charCodeAt(0);
const [QUERY, SYNC, FLUSH, EXECUTE] = [type("Q"), type("S"), type("H"), type("E")];
const [READY, KEY_DATA, ERROR] = [type("Z"), type("K"), type("E")];
const DESCRIPTION: readonly number[] = [type("t"), ERROR];
/** Ends one piece of a cursor: more follow, or the last. */
const PIECE: readonly number[] = [type("s"), type("C"), ERROR];

/**
 * Counts questions and answers: startup, each simple query and each Sync end with ReadyForQuery. A
 * Flush (after a Describe or a cursor's piece) ends with the description, the piece or an error;
 * between pieces the server waits for its client.
 */
export const owedAnswers = (): Owed => {
  let owed = 0;
  let executes = false;
  /** Answers that the last Flush expects, and how many others come before. */
  let flushed: { before: number; readonly ends: readonly number[] } | undefined;
  let pid: number | undefined;
  const ready = () => {
    owed = Math.max(0, owed - 1);
    if (flushed === undefined) return;
    if (flushed.before === 0) flushed = undefined;
    else flushed.before -= 1;
  };
  return {
    get isOwed() {
      return owed > 0 || flushed !== undefined;
    },
    get pid() {
      return pid;
    },
    sent: walkMessages("untyped", (sent) => {
      if (sent === EXECUTE) executes = true;
      else if (sent === FLUSH) flushed = { before: owed, ends: executes ? PIECE : DESCRIPTION };
      else if (sent === 0 || sent === QUERY || sent === SYNC) owed += 1;
      if (sent === FLUSH || sent === SYNC) executes = false;
    }),
    received: walkMessages("typed", (received, piece, body) => {
      if (received === READY) ready();
      else if (flushed?.before === 0 && flushed.ends.includes(received)) flushed = undefined;
      else if (received === KEY_DATA && piece.length >= body + 4) {
        const { buffer, byteOffset } = piece;
        pid = new DataView(buffer, byteOffset + body, 4).getInt32(0);
      }
    }),
  };
};
