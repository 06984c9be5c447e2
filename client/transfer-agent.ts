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
  /** The answer to an equal request that came before: nothing new was begun. */
  readonly replayed: boolean;
};

/**
 * `done`, `already_done` (the wallet was whitelisted before), `done_undelivered` (its callback was
 * given up) or `failed`; null before the end, undefined from an earlier version of the service.
 */
export type RequestOutcome = "done" | "already_done" | "done_undelivered" | "failed";

type RequestState = {
  readonly requestId: string;
  readonly status: RequestStatus;
  readonly message: string;
  readonly reason?: string | null;
  readonly outcome?: RequestOutcome | null;
  readonly txId?: string | null;
};

/** Times are ISO 8601. */
export type ListedRequest = RequestState & {
  readonly kind: "whitelist" | "kyc";
  readonly investorId: string;
  readonly wallet: string;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type WhichRequests = CallOptions & {
  readonly status?: RequestStatus | "OPEN" | undefined;
  readonly kind?: "whitelist" | "kyc" | undefined;
  readonly wallet?: string | undefined;
  readonly investorId?: string | undefined;
  /** Of acceptance; both inclusive. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

/** A callback with its attempts. Times are ISO 8601. */
export type CallbackDelivery = {
  /** `webhook-id`. */
  readonly id: string;
  readonly requestId: string | null;
  readonly status: "pending" | "withdrawn" | "delivered" | "failed" | "disabled";
  readonly createdAt: string;
  /** First success. */
  readonly deliveredAt: string | null;
  readonly attempts: readonly {
    readonly at: string;
    readonly statusCode: number | null;
    readonly error: string | null;
    readonly durationMs: number;
  }[];
};

export type RequestSeen = RequestState & {
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
  /** The key's own requests, newest first. */
  listRequests(which?: WhichRequests): AsyncIterable<ListedRequest>;
  /** Deliveries of the key's own results, oldest first. `after`: the id of the last one seen. */
  listCallbacks(
    which?: CallOptions & {
      readonly since?: Date | undefined;
      readonly after?: string | undefined;
    },
  ): AsyncIterable<CallbackDelivery>;
  /** Sends a result again, under the same `webhook-id`. */
  redeliver(
    id: string,
    sending?: Sending,
  ): Promise<{ readonly id: string; readonly message: string }>;
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
  const answered = async <Answer>(path: string, init: RequestInit) => {
    const response = await send(fetch, new URL(path, url).href, init);
    const body = await jsonOf(response, init.signal ?? undefined);
    if (!response.ok || body === undefined) throw refusalOf(response, body);
    return { answer: body as Answer, headers: response.headers };
  };
  const post = <Answer>(
    path: string,
    body: JsonValue,
    { idempotencyKey = globalThis.crypto.randomUUID(), signal }: Sending = {},
  ) =>
    // Reuse the Idempotency-Key, so that a retry creates no second request.
    retrying(ATTEMPTS, signal, () => {
      const signed = signRequest({ secretKey, body, path, idempotencyKey });
      const { headers } = signed;
      return answered<Answer>(path, {
        method: "POST",
        headers,
        body: signed.body,
        signal: signal ?? null,
      });
    });
  const submit = async (kind: "whitelist" | "kyc", body: JsonValue, sending?: Sending) => {
    const path = `/api/v1/investor/${kind}`;
    const { answer, headers } = await post<Omit<Accepted, "replayed">>(path, body, sending);
    return { ...answer, replayed: headers.get("idempotent-replayed") === "true" };
  };
  const get = <Answer>(path: string, { signal }: CallOptions = {}): Promise<Answer> =>
    retrying(ATTEMPTS, signal, async () => {
      const { headers } = signRequest({ secretKey, method: "GET", path });
      return (await answered<Answer>(path, { headers, signal: signal ?? null })).answer;
    });
  const request: TransferAgent["request"] = (id, asking) =>
    get(`/api/v1/requests/${encodeURIComponent(id)}`, asking);
  return {
    whitelist: (body, sending) => submit("whitelist", body, sending),
    kyc: (body, sending) => submit("kyc", body, sending),
    whitelistStatus: (wallet, asking) =>
      get(`/api/v1/investor/whitelist_status/${encodeURIComponent(wallet)}`, asking),
    request,
    async *listRequests({ signal, ...filter } = {}) {
      type Page = { readonly items: readonly ListedRequest[]; readonly next: string | null };
      let after: string | undefined;
      do {
        const page = await get<Page>(pathOf("/api/v1/requests", { ...filter, after }), { signal });
        yield* page.items;
        after = page.next ?? undefined;
      } while (after !== undefined);
    },
    async *listCallbacks({ signal, since, after: first } = {}) {
      for (let after = first; ; ) {
        const path = pathOf("/api/v1/callbacks", { since, after });
        const rows = await get<readonly CallbackDelivery[]>(path, { signal });
        yield* rows;
        const last = rows.at(-1);
        if (last === undefined) return;
        after = last.id;
      }
    },
    redeliver: async (id, sending) =>
      (
        await post<{ readonly id: string; readonly message: string }>(
          `/api/v1/callbacks/${encodeURIComponent(id)}/redeliver`,
          {},
          sending,
        )
      ).answer,
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

/** The path with the parameters that are given, as it is signed and sent. */
const pathOf = (
  path: string,
  parameters: Readonly<Record<string, string | Date | undefined>>,
): string => {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) given.set(name, value instanceof Date ? value.toISOString() : value);
  }
  return given.size === 0 ? path : `${path}?${given}`;
};
