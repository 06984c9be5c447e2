/** Requests to the transfer agent (interface C), signed, sent again where that is safe, and waited for. */
import { BookError, jsonOf, pause, refusalOf, retrying, send } from "./asking.mjs";
import { signRequest } from "./sign-request.mjs";

const ATTEMPTS = 6;
const POLL_MS = 1_000;

export const createTransferAgent = ({ url, secretKey, fetch = globalThis.fetch }) => {
  const answered = async (response, signal) => {
    const body = await jsonOf(response, signal);
    if (!response.ok || body === undefined) throw refusalOf(response, body);
    return body;
  };
  const post = (path, body, { idempotencyKey = globalThis.crypto.randomUUID(), signal } = {}) =>
    // The same Idempotency-Key each time: one request comes of them, whatever was lost on the way.
    retrying(ATTEMPTS, signal, async () => {
      const signed = signRequest({ secretKey, body, path, idempotencyKey });
      const init = { method: "POST", headers: signed.headers, body: signed.body, signal };
      return answered(await send(fetch, new URL(path, url).href, init), signal);
    });
  const get = (path, { signal } = {}) =>
    retrying(ATTEMPTS, signal, async () => {
      const { headers } = signRequest({ secretKey, method: "GET", path });
      return answered(await send(fetch, new URL(path, url).href, { headers, signal }), signal);
    });
  const request = (id, options) => get(`/api/v1/requests/${encodeURIComponent(id)}`, options);
  return {
    whitelist: (body, options) => post("/api/v1/investor/whitelist", body, options),
    kyc: (body, options) => post("/api/v1/investor/kyc", body, options),
    whitelistStatus: (wallet, options) =>
      get(`/api/v1/investor/whitelist_status/${encodeURIComponent(wallet)}`, options),
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
