/** What goes on while faults strike: signed requests to the transfer agent, and the receiver of their results. */
import { setTimeout as delay } from "node:timers/promises";
import { createTransferAgent } from "../../client/index.ts";
import { type Answer, startReceiver } from "../callbacks/receiver.ts";
import type { Random } from "../seeded-random.ts";
import { bodyOf } from "../ta/submissions.ts";

const INVESTORS = 8;
const SEND_EVERY_MS = 600;
/** No further ones while so many wait. */
const MOST_OPEN = 40;
const PATIENCE_MS = 10_000;
/** Accepted, or not while Postgres is away or the process starts. */
const EXPECTED: ReadonlySet<number> = new Set([201, 503]);

/** What it does instead of accepting. */
export type Refusal = 500 | 503 | "hangs up" | "never answers";

/** A receiver that refuses some results at first, and all of them while it is told to. */
export const startMoodyReceiver = async () => {
  let refusesAll: Refusal | undefined;
  const answers: Readonly<Record<Refusal, Answer>> = {
    500: 500,
    503: 503,
    "hangs up": (response) => void response.destroy(),
    "never answers": () => undefined,
  };
  const receiver = await startReceiver(({ id }, before) => {
    if (refusesAll !== undefined) return answers[refusesAll];
    const mood = Number.parseInt(id.slice(-2), 16) % 16;
    if (before > 0) return 204;
    return mood === 0 ? answers[500] : mood === 1 ? answers["hangs up"] : 204;
  });
  return {
    ...receiver,
    refuse: (how: Refusal | undefined) => {
      refusesAll = how;
    },
  };
};

export type Load = Awaited<ReturnType<typeof startLoad>>;

/** @param random draws wallets and kinds */
export const startLoad = async (random: Random) => {
  const receiver = await startMoodyReceiver();
  const stop = new AbortController();
  let isClosed = false;
  /** Ids of accepted requests, in the order of their answers. */
  const accepted: string[] = [];
  const wrong: string[] = [];
  let wallets = 0;
  let sending: Promise<unknown> = Promise.resolve();

  const wallet = () => {
    wallets += 1;
    const digits = Array.from({ length: 40 }, () => random(16).toString(16)).join("");
    return `0x${digits}${wallets.toString(16).padStart(24, "0")}`;
  };
  const called = () => new Set(receiver.accepted());

  const begin = ({ url, secretKey }: { readonly url: string; readonly secretKey: string }) => {
    const watched: typeof fetch = async (path, init) => {
      const response = await fetch(path, init);
      if (!EXPECTED.has(response.status)) {
        wrong.push(`a request was answered ${response.status}: ${await response.clone().text()}`);
      }
      return response;
    };
    const agent = createTransferAgent({ url, secretKey, fetch: watched });
    /** Sends one until it is accepted: all attempts have one key, so that they are one request. */
    const send = async (investorId: string, kind: "whitelist" | "kyc"): Promise<string> => {
      const body = bodyOf({ id: investorId, blockchain_wallet: wallet() });
      const idempotencyKey = `${investorId}-${wallets}`;
      for (;;) {
        try {
          const signal = AbortSignal.timeout(PATIENCE_MS);
          const { requestId } = await agent[kind](body, { idempotencyKey, signal });
          accepted.push(requestId);
          return requestId;
        } catch (error) {
          if (isClosed) throw error;
          await delay(200);
        }
      }
    };
    const keepSending = async () => {
      while (!stop.signal.aborted) {
        if (accepted.length - called().size < MOST_OPEN) {
          await send(`investor-${random(INVESTORS)}`, random(2) === 0 ? "whitelist" : "kyc");
        }
        await delay(SEND_EVERY_MS, undefined, { signal: stop.signal }).catch(() => undefined);
      }
    };
    sending = keepSending();
    // A failure shows when the load is ended.
    sending.catch(() => undefined);
    return { send };
  };

  return {
    receiver,
    accepted,
    /** Answers that must not be. */
    wrong: wrong as readonly string[],
    called,
    begin,
    /** No further request; all sent ones are accepted when it resolves. */
    end: async () => {
      stop.abort();
      await sending;
    },
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      stop.abort();
      await sending.catch(() => undefined);
      await receiver.close();
    },
  };
};
