/** The ids of traces, made from what each is about: the same in every process and after every restart. */
import { createHash } from "node:crypto";

/** A trace and its root span, as W3C Trace Context has them. */
export type TraceIds = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly rootId: string;
};

/** Of a request to the transfer agent, from its acceptance to its callback. */
export const requestTrace = (requestId: string): TraceIds => idsOf(`request ${requestId}`);

/** Of a batch of checkpoints, from the source to the rows, by the digest of its last one. */
export const batchTrace = (digest: string): TraceIds => idsOf(`checkpoint ${digest}`);

const idsOf = (subject: string): TraceIds => {
  const hash = createHash("sha256").update(`holderbook ${subject}`).digest("hex");
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48) };
};
