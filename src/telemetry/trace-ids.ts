/** Trace ids derived from their subject: equal in every process and after a restart. */
import { createHash } from "node:crypto";

/** A trace and its root span, as in W3C Trace Context. */
export type TraceIds = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly rootId: string;
};

/** Trace of a transfer-agent request, from acceptance to callback. */
export const requestTrace = (requestId: string): TraceIds => idsOf(`request ${requestId}`);

/** Trace of a batch, from source to rows, by the digest of its last checkpoint. */
export const batchTrace = (digest: string): TraceIds => idsOf(`checkpoint ${digest}`);

const idsOf = (subject: string): TraceIds => {
  const hash = createHash("sha256").update(`holderbook ${subject}`).digest("hex");
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48) };
};
