/** Transfer agent requests (interface C): signed, retried where safe, and awaited. */
import { BookError, type CallOptions, jsonOf, pause, refusalOf, retrying, send } from "./asking.ts";
import type { JsonValue } from "./canonical-json.ts";
import { signRequest } from "./sign-request.ts";

const ATTEMPTS = 6;
const POLL_MS = 1_000;

export type RequestStatus = "QUEUED" | "PENDING" | "SUCCESS" | "FAILED";

export type Accepted = {
  readonly requestId: string;
  readonly status: RequestStatus;
  readonly message: string;
};

export type RequestSeen = {
  readonly requestId: string;
  readonly status: RequestStatus;
  readonly message: string;
  readonly reason?: string | null;
  readonly txId?: string | null;
  /** The operator paused the asset: the request waits until it is resumed. */
  readonly paused?: true;
  readonly history: readonly {
    readonly status: RequestStatus;
    readonly at: string;
    readonly message: string;
  }[];
};

type Sending = CallOptions & {
  /** Repeats with one key make one request; default: a new key each time. */
  readonly idempotencyKey?: string | undefined;
};

export type TransferAgent = {
  /** @param body `{ investor: { … }, verifiedStatus?, verifiedAt? }`, see docs/how-to/transfer-agent.md */
  whitelist(body: JsonValue, sending?: Sending): Promise<Accepted>;
  kyc(body: JsonValue, sending?: Sending): Promise<Accepted>;
  whitelistStatus(
    wallet: string,
    asking?: CallOptions,
  ): Promise<{
    readonly isWhitelisted: boolean;
    readonly walletGroup: string | number | null;
    readonly requestId: string | null;
  }>;
  request(id: string, asking?: CallOptions): Promise<RequestSeen>;
  /** Waits for SUCCESS or FAILED. @throws BookError after `timeoutMs` (two minutes) */
  ended(
    id: string,
    asking?: CallOptions & { readonly timeoutMs?: number | undefined },
  ): Promise<RequestSeen>;
};

/** @param service `secretKey`: of the pair whose public key is registered for the asset, base64 */
export const createTransferAgent = ({
  url,
  secretKey,
  fetch = globalThis.fetch,
}: {
  readonly url: string;
  readonly secretKey: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
}): TransferAgent => {
  const answered = async <Answer>(path: string, init: RequestInit): Promise<Answer> => {
    const response = await send(fetch, new URL(path, url).href, init);
    const body = await jsonOf(response, init.signal ?? undefined);
    if (!response.ok || body === undefined) throw refusalOf(response, body);
    return body as Answer;
  };
  const post = (
    path: string,
    body: JsonValue,
    { idempotencyKey = globalThis.crypto.randomUUID(), signal }: Sending = {},
  ) =>
    // Reuse the Idempotency-Key, so that a retry creates no second request.
    retrying(ATTEMPTS, signal, () => {
      const signed = signRequest({ secretKey, body, path, idempotencyKey });
      const { headers } = signed;
      return answered<Accepted>(path, {
        method: "POST",
        headers,
        body: signed.body,
        signal: signal ?? null,
      });
    });
  const get = <Answer>(path: string, { signal }: CallOptions = {}) =>
    retrying(ATTEMPTS, signal, () => {
      const { headers } = signRequest({ secretKey, method: "GET", path });
      return answered<Answer>(path, { headers, signal: signal ?? null });
    });
  const request: TransferAgent["request"] = (id, asking) =>
    get(`/api/v1/requests/${encodeURIComponent(id)}`, asking);
  return {
    whitelist: (body, sending) => post("/api/v1/investor/whitelist", body, sending),
    kyc: (body, sending) => post("/api/v1/investor/kyc", body, sending),
    whitelistStatus: (wallet, asking) =>
      get(`/api/v1/investor/whitelist_status/${encodeURIComponent(wallet)}`, asking),
    request,
    ended: async (id, { signal, timeoutMs = 120_000 } = {}) => {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const seen = await request(id, { signal });
        if (seen.status === "SUCCESS" || seen.status === "FAILED") return seen;
        if (Date.now() > deadline) {
          throw new BookError(`request ${id} is ${seen.status} after ${timeoutMs} ms`, {
            status: 200,
          });
        }
        await pause(POLL_MS, signal);
      }
    },
  };
};
