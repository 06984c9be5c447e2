import type { JsonValue } from "./canonical-json.mjs";

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
  readonly history: readonly {
    readonly status: RequestStatus;
    readonly at: string;
    readonly message: string;
  }[];
};

type Sending = {
  /** The same one makes one request, however often it is sent; a new one each time unless given. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

type Asking = { readonly signal?: AbortSignal | undefined };

export type TransferAgent = {
  /** @param body `{ investor: { … }, verifiedStatus?, verifiedAt? }`, see docs/how-to/transfer-agent.md */
  whitelist(body: JsonValue, sending?: Sending): Promise<Accepted>;
  kyc(body: JsonValue, sending?: Sending): Promise<Accepted>;
  whitelistStatus(
    wallet: string,
    asking?: Asking,
  ): Promise<{
    readonly isWhitelisted: boolean;
    readonly walletGroup: string | number | null;
    readonly requestId: string | null;
  }>;
  request(id: string, asking?: Asking): Promise<RequestSeen>;
  /** Waits for SUCCESS or FAILED. @throws BookError after `timeoutMs` (two minutes) */
  ended(
    id: string,
    asking?: Asking & { readonly timeoutMs?: number | undefined },
  ): Promise<RequestSeen>;
};

/** @param service `secretKey`: of the pair whose public key is registered for the asset, base64 */
export declare const createTransferAgent: (service: {
  readonly url: string;
  readonly secretKey: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
}) => TransferAgent;
