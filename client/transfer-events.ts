/** Transfer events of a project's EVM tokens (interface A): paged and followed. */
import { pause, refusalOf, retrying, send, textOf } from "./asking.ts";
import { type Amounts, parseAmounts } from "./exact-json.ts";

const ROWS_PER_PAGE = 1_000;
const ATTEMPTS = 6;
const POLL_MS = 5_000;

/** Integers beyond 2^53 are `bigint`, others numbers. */
export type TransferEvent = Readonly<Record<string, unknown>> & { readonly id: number | bigint };

/** As asked for with `amounts: "bigint"`. */
export type ExactTransferEvent = TransferEvent & { readonly amount: bigint };

export type TransferEvents<Event extends TransferEvent = TransferEvent> = {
  /**
   * Records after `afterId`, or all, in chain order. `follow`: continue, polling every `pollMs`
   * (5000).
   * @throws BookError
   */
  events(which?: {
    readonly afterId?: number | bigint | undefined;
    readonly txHash?: string | undefined;
    readonly recipient?: string | undefined;
    readonly follow?: boolean | undefined;
    readonly pollMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  }): AsyncIterable<Event>;
};

type Service = {
  readonly url: string;
  readonly key: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
};

/**
 * @param service `key`: of the kind `project`; `amounts: "bigint"`: `amount` is always a `bigint`,
 * otherwise only beyond 2^53
 */
export function createTransferEvents(
  service: Service & { readonly amounts: "bigint" },
): TransferEvents<ExactTransferEvent>;
export function createTransferEvents(
  service: Service & { readonly amounts?: Amounts },
): TransferEvents;
export function createTransferEvents({
  url,
  key,
  fetch = globalThis.fetch,
  amounts,
}: Service & { readonly amounts?: Amounts }): TransferEvents {
  const page = (
    parameters: Readonly<Record<string, string | number | bigint | undefined>>,
    attempts: number,
    signal?: AbortSignal,
  ) =>
    retrying(attempts, signal, async (): Promise<readonly TransferEvent[]> => {
      const asked = new URL("/r/api/v2/transfer_events", url);
      for (const [name, value] of Object.entries(parameters)) {
        if (value !== undefined) asked.searchParams.set(name, String(value));
      }
      const headers = { "x-project-api-key": key };
      const response = await send(fetch, asked.href, { headers, signal: signal ?? null });
      const body = bodyOf(await textOf(response, signal), amounts);
      if (response.ok && Array.isArray(body)) return body;
      throw refusalOf(response, response.ok ? undefined : body);
    });

  return {
    async *events({ afterId, txHash, recipient, follow = false, pollMs = POLL_MS, signal } = {}) {
      let after = afterId;
      // Followers wait out an outage, however long.
      const attempts = follow ? Number.POSITIVE_INFINITY : ATTEMPTS;
      for (;;) {
        const rows = await page(
          { tx_hash: txHash, recipient_address: recipient, after_id: after, limit: ROWS_PER_PAGE },
          attempts,
          signal,
        );
        yield* rows;
        after = rows.at(-1)?.id ?? after;
        if (rows.length === ROWS_PER_PAGE) continue;
        if (!follow) return;
        await pause(pollMs, signal);
      }
    },
  };
}

const bodyOf = (text: string, amounts: Amounts): unknown => {
  try {
    return parseAmounts(text, amounts);
  } catch {
    return undefined;
  }
};
