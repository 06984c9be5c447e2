/** Messages of Postgres's wire protocol, as far as it takes to tell whether an answer is due. */

/** Bytes before a message's body: its type and, in four bytes, its length without the type. */
const HEADER_BYTES = 5;

/**
 * Walks a stream of messages, in whatever pieces it comes; nothing is kept of them.
 *
 * @param first a client's first message has no type; it is reported as type 0
 * @param each gets a message's type, and where its body begins in the piece that ended its header
 */
export const walkMessages = (
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
      // The length counts its own four bytes.
      left = Math.max(0, length - 4);
      each(type, piece, at);
      seen = 0;
      length = 0;
    }
  };
};

/** Whether a connection owes its client an answer, and the number of the server process behind it. */
export type Owed = {
  readonly isOwed: boolean;
  /** As the server sent it; undefined before. Some poolers make the number up. */
  readonly pid: number | undefined;
  sent(piece: Uint8Array): void;
  received(piece: Uint8Array): void;
};

const type = (letter: string) => letter.charCodeAt(0);
const [QUERY, SYNC, FLUSH, EXECUTE] = [type("Q"), type("S"), type("H"), type("E")];
const [READY, KEY_DATA, ERROR] = [type("Z"), type("K"), type("E")];
const DESCRIPTION: readonly number[] = [type("t"), ERROR];
/** Of a cursor: there is more, or this was the last one. */
const PIECE: readonly number[] = [type("s"), type("C"), ERROR];

/**
 * Counts what is asked and what is answered: the start, each simple query and each Sync end with one
 * ReadyForQuery. A Flush, which the driver sends after a Describe and after asking for a piece of a cursor,
 * ends with the description, the piece or an error; between two pieces the server waits for its client.
 */
export const owedAnswers = (): Owed => {
  let owed = 0;
  let executes = false;
  /** What the last Flush asks for, and how many of the others are answered before it. */
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
