/** An EVM chain whose node answers wrongly or not at all, or that changes its mind. */

import type { ProxySettings } from "../evm/proxy.ts";
import type { FaultKind } from "./fault.ts";
import { lasting, untilMet } from "./lasting.ts";

/** An unanswered request is given up after 20 s, and asked again after at most 30 s; a liar is left for a minute. */
const WITHIN_MS = 120_000;

const nodeFault = (
  name: string,
  wrong: (met: () => void) => ProxySettings,
  most = 3,
): FaultKind => ({
  name: `the EVM node ${name}`,
  withinMs: WITHIN_MS,
  strike: async ({ chain }, random) => {
    const met = await untilMet(random, most, (count) => chain.misbehave(wrong(count)));
    return { what: `met ${met()} times`, end: async () => chain.behave() };
  },
});

/** Answers every request so. */
const answering =
  (instead: ReturnType<NonNullable<ProxySettings["http"]>>) =>
  (met: () => void): ProxySettings => ({
    http: () => {
      met();
      return instead;
    },
  });

const lyingHead = (met: () => void): ProxySettings => ({
  answer: ({ method, params }, result) => {
    if (method !== "eth_getBlockByNumber" || params[0] !== "latest") return result;
    met();
    return { ...Object(result), number: "0xf4240" };
  },
});

const reorganised: FaultKind = {
  name: "the EVM chain replaces its newest blocks",
  withinMs: WITHIN_MS,
  strike: async ({ chain }, random) => {
    const depth = 1 + random(2);
    for (let left = 1 + random(3); left > 0; left -= 1) {
      await chain.reorganise(depth);
      await lasting(random, 200, 1_500);
    }
    return { what: `${depth} blocks`, end: async () => undefined };
  },
};

export const chainKinds: readonly FaultKind[] = [
  nodeFault("hangs up", answering("cut")),
  nodeFault("is in a black hole", answering("never"), 1),
  nodeFault("answers with 429", answering({ status: 429, headers: { "retry-after": "1" } })),
  nodeFault(
    "answers with HTML",
    answering({ status: 200, headers: { "content-type": "text/html" }, body: "<html></html>" }),
  ),
  nodeFault("says that the chain is longer", lyingHead, 1),
  reorganised,
];
