/** A ledger whose sources answer wrongly, or not at all: each fault strikes the full node and the object store. */
import type { ServerResponse } from "node:http";
import { status } from "@grpc/grpc-js";
import type { GrpcTypes } from "@mysten/sui/grpc";
import type { Random } from "../seeded-random.ts";
import type { FaultKind } from "./fault.ts";
import { lasting, shownAs, untilMet } from "./lasting.ts";
import type { Misbehaviour, ServedLedger } from "./served-ledger.ts";
import type { World } from "./world.ts";

/** A reader asks again after at most a minute. */
const WITHIN_MS = 100_000;

/** How the sources misbehave; `met` counts each wrong answer. */
type Wrong = (ledger: ServedLedger, random: Random, met: () => void) => Misbehaviour;

/** Misbehaves until the readers have met it `most` times at most, or until health shows it. */
const sourceFault = (
  name: string,
  wrong: Wrong,
  { shown, most = 4 }: { readonly shown?: RegExp; readonly most?: number } = {},
): FaultKind => ({
  name: `the ledger's sources ${name}`,
  isLong: shown !== undefined,
  withinMs: WITHIN_MS,
  strike: async (world: World, random) => {
    const { ledger } = world;
    const met = await untilMet(random, most, (count) =>
      ledger.misbehave(wrong(ledger, random, count)),
    );
    if (shown === undefined) await lasting(random, 0, 2_000);
    else await shownAs(world, "serve", shown);
    return { what: `met ${met()} times`, end: async () => ledger.behave() };
  },
});

type Refusal = {
  readonly grpc: { readonly code: status; readonly details: string };
  readonly http: (response: ServerResponse) => void;
};

/** Refuses everything, and ends what was subscribed to. */
const refusing =
  ({ grpc, http }: Refusal): Wrong =>
  (ledger, _random, met) => {
    const refuse = () => {
      met();
      return grpc;
    };
    ledger.node.breakStreams(grpc);
    return {
      node: { onCheckpoint: refuse, onInfo: refuse, onSubscribe: refuse },
      store: {
        misbehave: (_sequence, response) => {
          met();
          http(response);
          return true;
        },
      },
    };
  };

const refusal = (
  code: status,
  httpStatus: number,
  headers: Record<string, string> = {},
): Refusal => ({
  grpc: { code, details: `like ${httpStatus}` },
  http: (response) => void response.writeHead(httpStatus, headers).end("refused"),
});

const page: Refusal = {
  // What a gRPC client makes of a page.
  grpc: { code: status.UNKNOWN, details: "invalid content-type: text/html" },
  http: (response) =>
    void response
      .writeHead(200, { "content-type": "text/html" })
      .end("<html>We are back soon</html>"),
};

/** Takes every question and answers none. */
const stalling: Wrong = (ledger, _random, met) => {
  const never = () => {
    met();
    return new Promise<undefined>(() => undefined);
  };
  // Those that are subscribed hear nothing any more.
  ledger.node.subscribers.clear();
  return {
    node: {
      onCheckpoint: never,
      onInfo: never,
      onSubscribe: () => {
        met();
        return "silent";
      },
    },
    store: {
      misbehave: () => {
        met();
        return true;
      },
    },
  };
};

/** Answers with the bytes of another checkpoint, or with damaged ones. */
const delivering =
  (instead: (sequence: bigint) => bigint): Wrong =>
  (ledger, _random, met) => {
    const other = (sequence: bigint) => {
      const found = instead(sequence);
      if (found !== sequence) met();
      return found < 0n || found > ledger.newest() ? 0n : found;
    };
    return {
      node: { checkpoint: (sequence) => ledger.decoded(other(sequence)) },
      store: { object: (sequence) => ledger.object(other(sequence)) },
    };
  };

const truncating: Wrong = (ledger, _random, met) => ({
  node: {
    checkpoint: (sequence): GrpcTypes.Checkpoint => {
      met();
      const whole = ledger.decoded(sequence);
      return { ...whole, transactions: whole.transactions.slice(0, -1) };
    },
  },
  store: {
    object: (sequence) => {
      met();
      const whole = ledger.object(sequence);
      return whole.subarray(0, whole.length - 40);
    },
  },
});

/** Lacks single checkpoints, also in what it streams, and has those after them. */
const skipping: Wrong = (_ledger, random, met) => {
  const every = BigInt(2 + random(3));
  const isLacking = (sequence: bigint) => sequence % every === 0n;
  const missing = (sequence: bigint) => {
    if (isLacking(sequence)) met();
    return isLacking(sequence) ? { code: status.NOT_FOUND } : undefined;
  };
  return {
    node: { onCheckpoint: missing },
    isStreamed: (sequence) => !isLacking(sequence),
    store: {
      misbehave: (sequence, response) => {
        if (!isLacking(sequence)) return false;
        met();
        response.writeHead(404).end();
        return true;
      },
    },
  };
};

const FAR = 1_000_000n;
const NEAR = 50n;

/** Says that the ledger is far longer than it is, or shorter. */
const lying =
  (by: bigint): Wrong =>
  (ledger, _random, met) => ({
    head: (newest) => (newest + by < 0n ? 0n : newest + by),
    node: {
      onInfo: () => {
        met();
        return undefined;
      },
      onCheckpoint: (sequence) =>
        sequence > ledger.newest() ? { code: status.NOT_FOUND } : undefined,
    },
    store: {
      misbehave: (sequence, response, method) => {
        if (method !== "HEAD") return false;
        met();
        response.writeHead(sequence <= ledger.newest() + by ? 200 : 404).end();
        return true;
      },
    },
  });

/** Ends streams and connections over and over. */
const hangingUp: Wrong = (ledger, _random, met) => {
  ledger.node.breakStreams();
  const gone = { code: status.UNAVAILABLE, details: "read ECONNRESET" };
  return {
    node: {
      onCheckpoint: () => {
        met();
        return gone;
      },
      onSubscribe: () => {
        met();
        return gone;
      },
    },
    store: {
      misbehave: (_sequence, response) => {
        met();
        response.destroy();
        return true;
      },
    },
  };
};

export const sourceKinds: readonly FaultKind[] = [
  sourceFault("answer with 503", refusing(refusal(status.UNAVAILABLE, 503))),
  sourceFault(
    "answer with 429",
    refusing(refusal(status.RESOURCE_EXHAUSTED, 429, { "retry-after": "1" })),
  ),
  sourceFault("answer with 403", refusing(refusal(status.PERMISSION_DENIED, 403))),
  sourceFault("answer with HTML", refusing(page)),
  sourceFault(
    "answer with 403 until health says so",
    refusing(refusal(status.PERMISSION_DENIED, 403)),
    {
      shown: /the source /,
    },
  ),
  sourceFault("hang up", hangingUp),
  // Each of two readers waits for up to a minute for what it asked once.
  sourceFault("stall", stalling, { most: 2 }),
  sourceFault("stall until health says so", stalling, { shown: /has not answered/ }),
  sourceFault(
    "repeat a checkpoint under the next number",
    delivering((sequence) => sequence - 1n),
  ),
  sourceFault(
    "exchange neighbours",
    delivering((sequence) => (sequence % 2n === 0n ? sequence + 1n : sequence - 1n)),
  ),
  sourceFault("truncate what they send", truncating),
  sourceFault("skip checkpoints", skipping),
  sourceFault("say that the ledger is longer", lying(FAR)),
  sourceFault("say that the ledger is shorter", lying(-NEAR)),
];
