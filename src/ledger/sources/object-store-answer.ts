import { retryAfterMs } from "../../waiting/retry-after.ts";
import { CheckpointFileError, decompressCheckpoint } from "./chk-file.ts";
import { Setback } from "./fetch-attempts.ts";
import { BodyTooLargeError, type HttpAnswer, type HttpClient } from "./http-get.ts";
import { CheckpointTooLargeError, isTooLarge, SourceRefusedError } from "./source-errors.ts";

/** No server may make us wait longer than this at a time; asking once more then does no harm. */
const LONGEST_WAIT_MS = 15 * 60_000;

/** One object of the store, and who asks for it. */
export type ObjectQuestion = {
  readonly client: HttpClient;
  /** For messages: the source's description. */
  readonly source: string;
  readonly url: URL;
  readonly sequence: bigint;
};

/** What to read, within which bounds. */
export type ObjectRequest = ObjectQuestion & {
  readonly maxObjectBytes: number;
  readonly maxCheckpointBytes: number;
};

/** An object as it was read. */
export type ObjectAnswer = {
  /** Decompressed. */
  readonly checkpoint: Uint8Array;
  /** Bytes that came over the wire. */
  readonly transferred: number;
};

/**
 * Reads one object; null when the store does not have it.
 *
 * @throws Setback when it may go better the next time, SourceRefusedError or CheckpointTooLargeError (retry)
 *   when that will take longer
 */
export const readObject = async (
  { client, source, url, sequence, maxObjectBytes, maxCheckpointBytes }: ObjectRequest,
  signal: AbortSignal,
): Promise<ObjectAnswer | null> => {
  let answer: HttpAnswer;
  try {
    answer = await client.ask(url, { method: "GET", maxBytes: maxObjectBytes }, signal);
  } catch (error) {
    if (error instanceof BodyTooLargeError) {
      throw new CheckpointTooLargeError(source, sequence, error.message, { cause: error });
    }
    throw asSetback(error, signal);
  }
  if (!isThere(source, url, sequence, answer)) return null;
  const transferred = answer.body.byteLength;
  try {
    const checkpoint = await decompressCheckpoint(
      `object of ${transferred} bytes`,
      answer.body,
      maxCheckpointBytes,
    );
    return { checkpoint, transferred };
  } catch (error) {
    if (!(error instanceof CheckpointFileError)) throw error;
    if (isTooLarge(error)) {
      throw new CheckpointTooLargeError(source, sequence, error.message, { cause: error });
    }
    throw new Setback("damaged", error.message, 0, error);
  }
};

/**
 * Asks whether the store has an object, without reading it.
 *
 * @throws Setback when asking may go better the next time, SourceRefusedError (retry) when that will take longer
 */
export const askObject = async (
  { client, source, url, sequence }: ObjectQuestion,
  signal: AbortSignal,
): Promise<boolean> => {
  try {
    const answer = await client.ask(url, { method: "HEAD", maxBytes: 0 }, signal);
    return isThere(source, url, sequence, answer);
  } catch (error) {
    if (error instanceof SourceRefusedError || error instanceof Setback) throw error;
    throw asSetback(error, signal);
  }
};

/** What a status says: there, not there, or an error that knows what to do. */
const isThere = (source: string, url: URL, sequence: bigint, answer: HttpAnswer): boolean => {
  const { status } = answer;
  if (status === 200) return true;
  if (status === 404) return false;
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const askedMs = retryAfterMs(answer.header("retry-after")) ?? 0;
    throw new Setback("push-back", `HTTP ${status}`, Math.min(askedMs, LONGEST_WAIT_MS));
  }
  const location = answer.header("location");
  // The path of either may be a provider's key.
  const to =
    location === undefined || !URL.canParse(location, url)
      ? ""
      : `, which leads to ${new URL(location, url).origin}`;
  throw new SourceRefusedError(source, `checkpoint ${sequence}`, `HTTP ${status}${to}`);
};

/** Connections break for many reasons, all of which may pass; an abort is not one of them. */
const asSetback = (error: unknown, signal: AbortSignal): unknown => {
  if (signal.aborted) return signal.reason;
  const reason = error instanceof Error ? describe(error) : String(error);
  return new Setback("push-back", reason, 0, error);
};

/** A refused connection to a name with several addresses has its reasons inside. */
const describe = (error: Error): string =>
  error instanceof AggregateError
    ? error.errors
        .map((one: unknown) => (one instanceof Error ? one.message : String(one)))
        .join("; ")
    : error.message;
