/** `X-Min-Checkpoint`: the checkpoint that an answer has to show, for callers that read after their own write. */
import type { IncomingMessage } from "node:http";
import { HttpError } from "./http-error.ts";
import { headerOf } from "./who.ts";

const MIN_CHECKPOINT_HEADER = "X-Min-Checkpoint";

/** Checkpoints fit 63 bits. */
const MAX_DIGITS = 18;

/** @throws HttpError (400) when it is no checkpoint */
export const minCheckpointOf = (raw: IncomingMessage): bigint | undefined => {
  const text = headerOf(raw, MIN_CHECKPOINT_HEADER.toLowerCase());
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && text.length <= MAX_DIGITS) return BigInt(text);
  throw new HttpError(
    400,
    `${MIN_CHECKPOINT_HEADER}: must be a checkpoint, decimal, of at most ${MAX_DIGITS} digits, such as 184220931`,
  );
};
