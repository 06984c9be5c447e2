import type { Remedy } from "../waiting/remedy.ts";

/**
 * The address of a callback may not be called: its scheme, port, credentials, or where its name leads.
 * Stop: give another address, or allow private ones for development. Never names a resolved address,
 * which would tell the caller about the network behind us.
 */
export class CallbackAddressError extends Error {
  override readonly name = "CallbackAddressError";
  readonly remedy: Remedy = "stop";
}

/** The receiver did not connect or answer in time: retry later. */
export class ReceiverTimeoutError extends Error {
  override readonly name = "ReceiverTimeoutError";
  readonly remedy: Remedy = "retry";

  constructor(what: "connect" | "answer", ms: number) {
    super(`the receiver did not ${what} within ${ms / 1_000} s`);
  }
}

/** The connection failed or broke; `reason` is short and free of addresses. Retry later. */
export class ReceiverUnreachableError extends Error {
  override readonly name = "ReceiverUnreachableError";
  readonly remedy: Remedy = "retry";

  constructor(cause: unknown) {
    super(reasonOf(cause), { cause });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the receiver refused the connection",
  ECONNRESET: "the receiver closed the connection without an answer",
  EPIPE: "the receiver closed the connection without an answer",
  ENOTFOUND: "the host name of the receiver was not found",
  EAI_AGAIN: "the host name of the receiver could not be looked up",
  EHOSTUNREACH: "the receiver cannot be reached",
  ENETUNREACH: "the receiver cannot be reached",
  HPE_HEADER_OVERFLOW: "the headers of the answer are too long",
};

/** By the error's code alone: its message may hold a resolved address. */
const reasonOf = (cause: unknown): string => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
  const known = REASONS[code];
  if (known !== undefined) return known;
  return code.startsWith("HPE_")
    ? `the answer is not HTTP (${code})`
    : `the connection failed (${code.slice(0, 60)})`;
};
