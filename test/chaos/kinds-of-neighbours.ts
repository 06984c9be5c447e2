/** The others that the transfer agent needs: the node that takes transactions, and the receiver of results. */
import type { FaultKind } from "./fault.ts";
import { lasting, oneOf } from "./lasting.ts";
import type { Refusal } from "./load.ts";

const WITHIN_MS = 100_000;

const cutNode: FaultKind = {
  name: "connections to the node for transactions cut",
  withinMs: WITHIN_MS,
  strike: async ({ wayToNode }, random) => {
    for (let left = 1 + random(3); left > 0; left -= 1) {
      wayToNode.break();
      await lasting(random, 200, 1_500);
      wayToNode.mend();
      await lasting(random, 100, 800);
    }
    return { what: "the node", end: async () => undefined };
  },
};

const unheardNode: FaultKind = {
  name: "answers of the node for transactions lost",
  withinMs: WITHIN_MS,
  strike: async ({ wayToNode }, random) => {
    wayToNode.loseAnswers();
    await lasting(random, 1_000, 5_000);
    return { what: "the node", end: async () => wayToNode.speakAgain() };
  },
};

const silentNode: FaultKind = {
  name: "connections to the node for transactions in a black hole",
  withinMs: WITHIN_MS,
  strike: async ({ wayToNode }, random) => {
    wayToNode.fallSilent();
    await lasting(random, 1_000, 4_000);
    return { what: "the node", end: async () => wayToNode.speakAgain() };
  },
};

const refusingReceiver: FaultKind = {
  name: "a receiver of results that refuses, hangs up or stalls",
  withinMs: WITHIN_MS,
  strike: async ({ load }, random) => {
    const how = oneOf<Refusal>(random, "hangs up", 503, "never answers");
    load.receiver.refuse(how);
    await lasting(random, 1_000, 4_000);
    return { what: `${how}`, end: async () => load.receiver.refuse(undefined) };
  },
};

export const neighbourKinds: readonly FaultKind[] = [
  cutNode,
  unheardNode,
  silentNode,
  refusingReceiver,
];
