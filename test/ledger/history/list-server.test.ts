import { ChannelCredentials } from "@grpc/grpc-js";
import { GrpcTypes, SuiGrpcClient } from "@mysten/sui/grpc";
import { GrpcTransport } from "@protobuf-ts/grpc-transport";
import { expect, test } from "vitest";
import { endingEarly, HONEST } from "./lies.ts";
import { LIMITS } from "./list-scan.ts";
import { startListServer } from "./list-server.ts";
import { listedDemo } from "./listed-demo.ts";

const COUNT = 400;
const ledger = listedDemo({ seed: "lists", epochLength: 100 }, COUNT);
const { demo } = ledger;
const [original = ""] = demo.packages;
const [treasury = ""] = demo.coinTypes.map(({ treasuryId }) => treasuryId);
const { QueryEndReason } = GrpcTypes;

const connected = async (
  ...options: Parameters<typeof startListServer> extends [unknown, ...infer R] ? R : never
) => {
  const server = await startListServer(ledger, ...options);
  const transport = new GrpcTransport({
    host: server.host,
    channelCredentials: ChannelCredentials.createInsecure(),
  });
  const client = new SuiGrpcClient({ network: "test", transport });
  return {
    server,
    ledgerService: client.ledgerService,
    [Symbol.asyncDispose]: async () => {
      transport.close();
      await server[Symbol.asyncDispose]();
    },
  };
};

type Literal = GrpcTypes.TransactionLiteral["predicate"];

const touching = (objectId: string): Literal => ({
  oneofKind: "affectedObject",
  affectedObject: { objectId },
});
const emitting = (eventType: string): Literal => ({
  oneofKind: "eventType",
  eventType: { eventType },
});

const anyOf = (...predicates: readonly Literal[]): GrpcTypes.TransactionFilter => ({
  terms: predicates.map((predicate) => ({ literals: [{ negated: false, predicate }] })),
});

const framesOf = async (call: {
  readonly responses: AsyncIterable<GrpcTypes.ListTransactionsResponse>;
}) => {
  const frames: GrpcTypes.ListTransactionsResponse[] = [];
  for await (const frame of call.responses) frames.push(frame);
  return frames;
};

test("an answer names the transactions of the range that touch an object, and what it covers", async () => {
  await using node = await connected();

  const frames = await framesOf(
    node.ledgerService.listTransactions({
      startCheckpoint: 100n,
      endCheckpoint: 300n,
      filter: anyOf(touching(treasury)),
    }),
  );

  const places = ledger
    .listed(`object ${treasury}`)
    .filter(({ checkpoint }) => checkpoint >= 100n && checkpoint < 300n);
  expect(places.length).toBeGreaterThan(10);
  expect(
    frames.flatMap(({ transaction }) => (transaction === undefined ? [] : [transaction.digest])),
  ).toEqual(places.map(({ digest }) => digest));
  const last = frames.at(-1);
  expect(last?.end?.reason).toBe(QueryEndReason.CHECKPOINT_BOUND);
  expect(last?.watermark?.checkpoint).toBe(299n);
});

test("a limited answer goes on behind its cursor until the range is covered", async () => {
  await using node = await connected({
    limits: { ...LIMITS, items: { checkpoints: 20, transactions: 20 }, bucket: 5n, buckets: 2 },
  });
  const found: string[] = [];
  const reasons = new Set<GrpcTypes.QueryEndReason | undefined>();
  let after: Uint8Array | undefined;
  let covered: bigint | undefined;
  while (covered !== 399n) {
    const options = after === undefined ? {} : { after };
    const request = { endCheckpoint: 400n, filter: anyOf(emitting(original)), options };
    for (const frame of await framesOf(node.ledgerService.listTransactions(request))) {
      if (frame.transaction?.digest !== undefined) found.push(frame.transaction.digest);
      after = frame.watermark?.cursor ?? after;
      covered = frame.watermark?.checkpoint ?? covered;
      if (frame.end !== undefined) reasons.add(frame.end.reason);
    }
  }

  expect(found).toEqual(ledger.listed(`event ${original}`).map(({ digest }) => digest));
  expect([...reasons]).toContain(QueryEndReason.ITEM_LIMIT);
  expect([...reasons]).toContain(QueryEndReason.SCAN_LIMIT);
});

test("behind the last item of a range an answer is bound by its cursor and covers nothing", async () => {
  await using node = await connected({
    limits: { ...LIMITS, items: { checkpoints: 1, transactions: 1 } },
  });
  const { checkpoint } = ledger.listed(`object ${treasury}`).at(-1) ?? { checkpoint: 0n };
  const request = {
    startCheckpoint: checkpoint,
    endCheckpoint: checkpoint + 1n,
    filter: anyOf(touching(treasury)),
  };
  const reading = async (after?: Uint8Array) =>
    await framesOf(
      node.ledgerService.listCheckpoints({ ...request, ...(after && { options: { after } }) }),
    );
  const [first] = await reading();
  const [second, ...further] = await reading(first?.watermark?.cursor);

  expect(first?.end?.reason).toBe(QueryEndReason.ITEM_LIMIT);
  expect(second?.end?.reason).toBe(QueryEndReason.CURSOR_BOUND);
  expect(second?.watermark?.checkpoint).toBeUndefined();
  expect(further).toEqual([]);
});

test("a start below the lists is refused, an open one is raised", async () => {
  await using node = await connected({ limits: { ...LIMITS, floor: 50n } });
  const filter = anyOf(touching(treasury));
  const { responses } = node.ledgerService.listTransactions({ startCheckpoint: 49n, filter });

  await expect(framesOf({ responses })).rejects.toMatchObject({ code: "OUT_OF_RANGE" });
  const open = await framesOf(node.ledgerService.listTransactions({ filter }));
  expect(open.at(-1)?.end?.reason).toBe(QueryEndReason.LEDGER_TIP);
});

test("more literals than the server takes, or no lists at all, are refused", async () => {
  await using node = await connected();
  const filter = anyOf(...Array.from({ length: 11 }, () => touching(treasury)));
  const tooMany = framesOf(node.ledgerService.listTransactions({ filter }));
  await expect(tooMany).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });

  node.server.lists.onList = () => "unimplemented";
  const unlisted = framesOf(
    node.ledgerService.listTransactions({ filter: anyOf(touching(treasury)) }),
  );
  await expect(unlisted).rejects.toMatchObject({ code: "UNIMPLEMENTED" });
});

test("a lying server leaves out what it hides and serves the heads it invents", async () => {
  const places = ledger.listed(`object ${treasury}`);
  const hidden = places[3]?.digest ?? "";
  await using node = await connected({
    lies: {
      ...HONEST,
      unlisted: new Set([hidden]),
      unknown: new Set([hidden]),
      heads: new Map([[treasury, undefined]]),
      frames: endingEarly(4, QueryEndReason.LEDGER_TIP),
    },
  });

  const frames = await framesOf(
    node.ledgerService.listTransactions({ filter: anyOf(touching(treasury)) }),
  );
  const { response } = await node.ledgerService.batchGetObjects({
    requests: [{ objectId: treasury }],
  });

  expect(frames.map(({ transaction }) => transaction?.digest)).toEqual(
    [0, 1, 2, 4].map((n) => places[n]?.digest),
  );
  expect(frames.at(-1)?.end?.reason).toBe(QueryEndReason.LEDGER_TIP);
  expect(response.objects[0]?.result.oneofKind).toBe("error");
  const asked = node.ledgerService.getTransaction({ digest: hidden }).response;
  await expect(asked).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("checkpoints, epochs, heads and metadata are those of the ledger", async () => {
  await using node = await connected();
  const [coin] = demo.coinTypes;
  const { response } = await node.ledgerService.getCheckpoint({
    checkpointId: { oneofKind: "sequenceNumber", sequenceNumber: 77n },
  });
  const epoch = await node.ledgerService.getEpoch({ epoch: 1n }).response;
  const object = await node.ledgerService.getObject({ objectId: treasury }).response;

  expect(GrpcTypes.Checkpoint.toJson(response.checkpoint ?? GrpcTypes.Checkpoint.create())).toEqual(
    GrpcTypes.Checkpoint.toJson(GrpcTypes.Checkpoint.fromBinary(ledger.checkpoint(77n))),
  );
  expect(epoch.epoch?.lastCheckpoint).toBe(199n);
  expect(object.object?.version).toBe(demo.object(treasury)?.version);
  expect(ledger.metadataOf(coin?.coinType ?? "")).toMatch(/^0x/);
});

test("claims and splits through a foreign package are listed by their objects alone", () => {
  const foreign = listedDemo({ seed: "lists", foreign: 0.5 }, 300);
  const { packages, foreignPackages, coinTypes } = foreign.demo;
  const digests = (key: string) => foreign.listed(key).map(({ digest }) => digest);
  const ofContract = new Set(
    packages.flatMap((address) => [...digests(`call ${address}`), ...digests(`event ${address}`)]),
  );
  const [, exchange = ""] = foreignPackages;
  const hidden = (name: string) =>
    digests(`call ${exchange}::pool::${name}`).filter((digest) => !ofContract.has(digest));

  expect(hidden("claim_into").length).toBeGreaterThan(0);
  expect(hidden("split").length).toBeGreaterThan(0);
  for (const { coinType, treasuryId } of coinTypes) {
    const [created] = foreign.listed(`object ${treasuryId}`);
    const [coinPackage = ""] = coinType.split("::");
    expect(digests(`call ${coinPackage}`)).toContain(created?.digest);
  }
});
