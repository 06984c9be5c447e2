/** What a chain's RPC endpoints are said to be: in the health report and in the log. */

import type { Logger } from "../../logging/logger.ts";
import { LyingRpcError, RpcRefusedError, RpcUnavailableError } from "./errors.ts";
import type { EndpointStatus } from "./member.ts";

/** An endpoint by its label: the rest of its URL may hold keys. */
export type EndpointHealth = Pick<EndpointStatus, "state" | "failures"> & {
  readonly endpoint: string;
  /** Why it was set aside last, also when it has recovered since; null when it never was. */
  readonly lastError: {
    readonly name: string;
    /** Such as `rate limit`, `missing logs` or `code -32000`; empty where the name says it all. */
    readonly kind: string;
    readonly message: string;
    readonly secondsAgo: number;
  } | null;
};

/** Errors may quote what they choked on; the log has the whole of it. */
const LONGEST_MESSAGE = 300;

export const endpointHealth = (
  { label, state, failures, lastError, lastErrorAtMs }: EndpointStatus,
  nowMs: number,
): EndpointHealth => ({
  endpoint: label,
  state,
  failures,
  lastError:
    lastError === undefined
      ? null
      : {
          name: lastError.name,
          kind: kindOf(lastError),
          message: lastError.message.slice(0, LONGEST_MESSAGE),
          secondsAgo: Math.max(0, Math.floor((nowMs - (lastErrorAtMs ?? nowMs)) / 1_000)),
        },
});

const kindOf = (error: Error): string => {
  if (error instanceof RpcUnavailableError) return error.reason;
  if (error instanceof LyingRpcError) return error.lie;
  return error instanceof RpcRefusedError ? `code ${error.code}` : "";
};

/** Until the same kind of failure of the same endpoint is logged again. */
const TELL_AGAIN_MS = 10 * 60_000;

/** Logs that endpoints are set aside, each kind of failure of each once in ten minutes. */
export const endpointWarnings = (
  logger: Logger,
  where: Readonly<Record<string, unknown>>,
): ((endpoint: EndpointStatus) => void) => {
  const toldAt = new Map<string, number>();
  return ({ label, state, lastError }) => {
    const kind = `${label} ${lastError?.name} ${lastError && kindOf(lastError)}`;
    const now = performance.now();
    if (now - (toldAt.get(kind) ?? Number.NEGATIVE_INFINITY) < TELL_AGAIN_MS) return;
    toldAt.set(kind, now);
    logger.warn(
      { ...where, endpoint: label, state, err: lastError },
      "an RPC endpoint is set aside; it is tried again unless it is of another chain",
    );
  };
};
