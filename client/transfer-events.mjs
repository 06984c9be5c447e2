/** Transfer events of a project's EVM tokens (interface A), page after page, and as they come. */
import { pause, refusalOf, retrying, send, textOf } from "./asking.mjs";
import { parseExactly } from "./exact-json.mjs";

const PAGE = 1_000;
const ATTEMPTS = 6;
const POLL_MS = 5_000;

export const createTransferEvents = ({ url, key, fetch = globalThis.fetch }) => {
  const page = (parameters, attempts, signal) =>
    retrying(attempts, signal, async () => {
      const asked = new URL("/r/api/v2/transfer_events", url);
      for (const [name, value] of Object.entries(parameters)) {
        if (value !== undefined) asked.searchParams.set(name, String(value));
      }
      const response = await send(fetch, asked.href, {
        headers: { "x-project-api-key": key },
        signal,
      });
      const text = await textOf(response, signal);
      const body = bodyOf(text);
      if (response.ok && Array.isArray(body)) return body;
      throw refusalOf(response, response.ok ? undefined : body);
    });

  return {
    async *events({ afterId, txHash, recipient, follow = false, pollMs = POLL_MS, signal } = {}) {
      let after = afterId;
      // Who follows waits for a service that is away, however long.
      const attempts = follow ? Number.POSITIVE_INFINITY : ATTEMPTS;
      for (;;) {
        const rows = await page(
          { tx_hash: txHash, recipient_address: recipient, after_id: after, limit: PAGE },
          attempts,
          signal,
        );
        yield* rows;
        after = rows.at(-1)?.id ?? after;
        if (rows.length === PAGE) continue;
        if (!follow) return;
        await pause(pollMs, signal);
      }
    },
  };
};

const bodyOf = (text) => {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
};
