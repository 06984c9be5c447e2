import { retryAfterMs } from "../../waiting/retry-after.ts";
import { CheckpointFileError, type Decompress } from "./chk-file.ts";
import { Setback } from "./fetch-attempts.ts";
import { BodyTooLargeError, type HttpAnswer, type HttpClient } from "./http-get.ts";
import { CheckpointTooLargeError, isTooLarge, SourceRefusedError } from "./source-errors.ts";

/** Maximum pause that a server can request. */
const LONGEST_WAIT_MS = 15 * 60_000;

type ObjectQuestion = {
  readonly client: HttpClient;
  /** The source's description, for messages. */
  readonly source: string;
  readonly url: URL;
  readonly sequence: bigint;
};

type ObjectRequest = ObjectQuestion & {
  readonly maxObjectBytes: number;
  readonly maxCheckpointBytes: number;
  readonly decompress: Decompress;
};

export type ObjectAnswer = {
  /** As `decompress` left it. */
  readonly checkpoint: Uint8Array;
  readonly transferred: number;
};

/**
 * Reads an object; null when missing.
 *
 * @throws Setback (transient), SourceRefusedError or CheckpointTooLargeError (retry)
 */
export const readObject = async (
  { client, source, url, sequence, maxObjectBytes, maxCheckpointBytes, decompress }: ObjectRequest,
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
    const checkpoint = await decompress(
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

/** @throws Setback (transient), SourceRefusedError (retry) */
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

/** Interprets a status: there, missing, or an error. */
const isThere = (source: string, url: URL, sequence: bigint, answer: HttpAnswer): boolean => {
  const { status } = answer;
  if (status === 200) return true;
  if (status === 404) return false;
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const askedMs = retryAfterMs(answer.header("retry-after")) ?? 0;
    throw new Setback("push-back", `HTTP ${status}`, Math.min(askedMs, LONGEST_WAIT_MS));
  }
  const location = answer.header("location");
  // Either path may hold a provider's key.
  const to =
    location === undefined || !URL.canParse(location, url)
      ? ""
      : `, which leads to ${new URL(location, url).origin}`;
  throw new SourceRefusedError(source, `checkpoint ${sequence}`, `HTTP ${status}${to}`);
};

/** Connection failures are transient; an abort is none. */
const asSetback = (error: unknown, signal: AbortSignal): unknown => {
  if (signal.aborted) return signal.reason;
  const reason = error instanceof Error ? describe(error) : String(error);
  return new Setback("push-back", reason, 0, error);
};

/** An AggregateError holds one reason per address. */
const describe = (error: Error): string =>
  error instanceof AggregateError
    ? error.errors
        .map((one: unknown) => (one instanceof Error ? one.message : String(one)))
        .join("; ")
    : error.message;
