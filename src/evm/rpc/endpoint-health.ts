/** The state of a chain's RPC endpoints in the health report and in the log. */
import { z } from "zod";
import type { Logger } from "../../logging/logger.ts";
import { LyingRpcError, RpcRefusedError, RpcUnavailableError } from "./errors.ts";
import type { EndpointStatus } from "./fleet.ts";

export const endpointHealthSchema = z.object({
  /** Its label: the rest of its URL may hold keys. */
  endpoint: z.string(),
  state: z.enum(["unused", "good", "paused", "wrong chain"]),
  failures: z.number(),
  /** Why it was last set aside; it may have recovered since. Null when it never was. */
  lastError: z
    .object({
      name: z.string(),
      /** Such as `rate limit`, `missing logs` or `code -32000`; may be empty. */
      kind: z.string(),
      message: z.string(),
      secondsAgo: z.number(),
    })
    .readonly()
    .nullable(),
});

export type EndpointHealth = Readonly<z.infer<typeof endpointHealthSchema>>;

/** Errors may quote long input; the log has all of it. */
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

/** The same failure of the same endpoint is logged again after this. */
const REPEAT_MS = 10 * 60_000;

/** Logs endpoints that are set aside, each kind of failure at most every ten minutes. */
export const endpointWarnings = (
  logger: Logger,
  where: Readonly<Record<string, unknown>>,
): ((endpoint: EndpointStatus) => void) => {
  const loggedAt = new Map<string, number>();
  return ({ label, state, lastError }) => {
    const kind = `${label} ${lastError?.name} ${lastError && kindOf(lastError)}`;
    const now = performance.now();
    if (now - (loggedAt.get(kind) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    loggedAt.set(kind, now);
    logger.warn(
      { ...where, endpoint: label, state, err: lastError },
      "an RPC endpoint is set aside; it is tried again unless it is of another chain",
    );
  };
};
