/**
 * Client of an outside signer that keeps the deployment's key: `POST { payload }` returns `{
 * signature }`, both base64. Ed25519 signs exactly the payload. Protocol: docs/how-to/keys.md.
 */
import { z } from "zod";
import { publicKeyOf, strictBase64, verifyBytes } from "../../../client/ed25519.ts";
import { askSigner, type SignerAddress } from "../../sealing/ask-signer.ts";
import { shownUrl } from "../../settings/shown-url.ts";
import { errorOf, type Remedy } from "../../waiting/remedy.ts";

/**
 * The signer that keeps the deployment's key does not answer. Nothing was signed or written;
 * indexing and serving continue. Retry until the signer is back.
 */
export class SignerAwayError extends Error {
  override readonly name = "SignerAwayError";
  readonly remedy: Remedy = "retry";

  constructor(where: string, why: string, options?: ErrorOptions) {
    super(
      `the signer at ${where}, which keeps the deployment's key, ${why}: nothing is signed until it is back`,
      options,
    );
  }
}

/**
 * The signer refuses to sign, or its answer is not a signature by the deployment's key. Nothing was
 * written. Stop: check DEPLOYMENT_SIGNER_URL, _TOKEN and _KEY, and the signer's log.
 */
export class SignerAnswerError extends Error {
  override readonly name = "SignerAnswerError";
  readonly remedy: Remedy = "stop";

  constructor(where: string, what: string) {
    super(`the signer at ${where} ${what}: nothing is signed`);
  }
}

export type OutsideSigner = {
  /** Base64 of the 32 bytes. */
  readonly publicKey: string;
  /**
   * Base64 of the 64 bytes, verified.
   * @throws SignerAwayError (retry), SignerAnswerError (stop)
   */
  sign(bytes: Uint8Array): Promise<string>;
  /** Last failure's reason and the start of the run of failures; undefined after a success. */
  trouble(): SignerTrouble | undefined;
};

export type SignerTrouble = { readonly reason: string; readonly sinceMs: number };

type OutsideSignerSettings = SignerAddress & {
  /** Base64 of the 32 bytes. */
  readonly publicKey: string;
  /** Timeout of one answer, milliseconds. */
  readonly timeoutMs?: number;
};

/** Entries are signed while the sequence is locked: other writers wait this long. */
const TIMEOUT_MS = 3_000;

/** Callers that queued for the lock fail immediately instead of each waiting for the timeout. */
const FAILS_AT_ONCE_MS = 1_000;

const answer = z.object({ signature: z.string().max(100) });

/** One per process: it remembers a recent failure. */
export const outsideSigner = (settings: OutsideSignerSettings): OutsideSigner => {
  const { publicKey, timeoutMs = TIMEOUT_MS } = settings;
  const key = publicKeyOf(publicKey);
  const where = shownUrl(settings.url);
  let failed: (SignerTrouble & { readonly error: Error; readonly atMs: number }) | undefined;

  const ask = async (bytes: Uint8Array): Promise<string> => {
    const payload = Buffer.from(bytes).toString("base64");
    const asked = await askSigner(
      settings,
      { payload },
      answer,
      AbortSignal.timeout(timeoutMs),
    ).catch((cause: unknown) => {
      throw new SignerAwayError(where, "does not answer", { cause });
    });
    if (asked.answer === undefined) {
      const { status } = asked;
      if (isFinal(status)) throw new SignerAnswerError(where, `refuses to sign (${status})`);
      throw new SignerAwayError(
        where,
        status === 200 ? "gave an unexpected answer" : `answers ${status}`,
      );
    }
    const { signature } = asked.answer;
    const raw = strictBase64(signature);
    if (raw === undefined || !verifyBytes(bytes, raw, key)) {
      throw new SignerAnswerError(
        where,
        `answered with a signature that is not one of the key ${publicKey}`,
      );
    }
    return signature;
  };

  return {
    publicKey,
    sign: async (bytes) => {
      const now = performance.now();
      if (failed !== undefined && now - failed.atMs < FAILS_AT_ONCE_MS) throw failed.error;
      try {
        const signature = await ask(bytes);
        failed = undefined;
        return signature;
      } catch (thrown) {
        const error = errorOf(thrown);
        const sinceMs = failed?.sinceMs ?? Date.now();
        failed = { error, reason: error.message, sinceMs, atMs: performance.now() };
        throw error;
      }
    },
    trouble: () => failed && { reason: failed.reason, sinceMs: failed.sinceMs },
  };
};

/** 408 and 429 are temporary. */
const isFinal = (status: number): boolean =>
  status >= 400 && status < 500 && status !== 408 && status !== 429;
