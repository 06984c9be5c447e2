/**
 * An EVM chain of its own with transfers of one token, its node behind a proxy that may misbehave, and the receiver
 * of the transfers' callbacks.
 */
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { startAnvil } from "../evm/anvil.ts";
import { reorganise } from "../evm/following.ts";
import { type ProxySettings, startProxy } from "../evm/proxy.ts";
import { startMoodyReceiver } from "./load.ts";

export const CHAIN_PROJECT = "acme-evm";
const SEND_EVERY_MS = 400;
/** A block is final once so many others follow it; a reorganisation replaces no more. */
const FINALITY = 2;

const record = z.object({ amount: z.number() });

export type ServedChain = Awaited<ReturnType<typeof serveChain>>;

export const serveChain = async () => {
  await using opened = new AsyncDisposableStack();
  const chain = opened.use(await startAnvil());
  const token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 0, 1_000_000_000]);
  const receiver = opened.use(await startMoodyReceiver());
  let how: ProxySettings = {};
  const node = opened.use(
    await startProxy(chain.url, {
      answer: (call, result) => how.answer?.(call, result) ?? result,
      http: (calls) => how.http?.(calls),
    }),
  );

  /** One after the other: a transfer's block is not replaced before its receipt was seen. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<unknown>) => {
    turn = turn.then(work);
    return turn;
  };
  let sent = 0;
  const stop = new AbortController();
  const sending = (async () => {
    while (!stop.signal.aborted) {
      const amount = sent + 1;
      await inTurn(() => chain.send(token, "transfer", [chain.wallet(1 + (amount % 5)), amount]));
      sent = amount;
      await delay(SEND_EVERY_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  // A failure shows when the load is ended.
  sending.catch(() => undefined);
  opened.defer(async () => {
    stop.abort();
    await sending.catch(() => undefined);
  });

  const project = (rpc: string) => ({
    name: CHAIN_PROJECT,
    tokens: [
      {
        name: CHAIN_PROJECT,
        ledger: "evm" as const,
        network: "local",
        chainId: chain.chainId,
        rpc: [rpc],
        address: token.address,
        type: "comakery_security_token_v4" as const,
        finality: FINALITY,
      },
    ],
  });
  const all = opened.move();
  return {
    /** As the deployment reads it. */
    project: { ...project(node.url), callbackUrl: receiver.url },
    /** The same past all that misbehaves. */
    honestToken: project(chain.url).tokens,
    receiver,
    /** Amount of the newest transfer: each is one more than that before. */
    sent: () => sent,
    /** Amounts of the transfers that the receiver took, in the order in which it first did. */
    called: (): readonly number[] => {
      const taken = receiver.received.filter(({ answered = 0 }) => answered === 204);
      return [...new Map(taken.toReversed().map((each) => [each.id, each.body])).values()]
        .toReversed()
        .map((body) => record.parse(JSON.parse(body)).amount);
    },
    misbehave: (next: ProxySettings) => {
      how = next;
    },
    behave: () => {
      how = {};
    },
    /** Replaces the newest blocks. */
    reorganise: (depth: number) => inTurn(() => reorganise(chain, token, depth, 9, sent)),
    /** No further transfer; all of them are final. */
    end: async () => {
      stop.abort();
      await sending;
      await chain.request("anvil_mine", [`0x${(FINALITY + 1).toString(16)}`]);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};
