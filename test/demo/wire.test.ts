/** The bytes of the demo ledger, read by the network's own library and hashed by another one. */
import { createPublicKey, verify } from "node:crypto";
import { fromBase58, toBase58 } from "@mysten/bcs";
import { bcs } from "@mysten/sui/bcs";
import { GrpcTypes } from "@mysten/sui/grpc";
import { blake2b } from "@noble/hashes/blake2.js";
import { beforeAll, expect, test } from "vitest";
import { createDemoLedger, type DemoLedger } from "../../demo/demo-ledger.ts";
import { decodeCurrency } from "../../src/ledger/contract/objects.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { checkDigests } from "../../src/ledger/reading/inspect.ts";
import * as types from "../ledger/wire-types.ts";

type CheckpointData = ReturnType<typeof types.readCheckpointData>;
type Transaction = CheckpointData["transactions"][number];
type Stored = Transaction["inputs"][number];

const digest = (name: string, bytes: Uint8Array): string =>
  toBase58(blake2b(Uint8Array.from([...Buffer.from(`${name}::`), ...bytes]), { dkLen: 32 }));
const text = (bytes: Iterable<number>): string => toBase58(Uint8Array.from(bytes));

const idOf = ({ value }: Stored): string => {
  const { Move, Package } = value.data;
  return Move === undefined
    ? (Package?.id ?? "")
    : `0x${Buffer.from(Move.contents.slice(0, 32)).toString("hex")}`;
};
const versionOf = ({ value }: Stored): bigint =>
  BigInt(value.data.Move?.version ?? value.data.Package?.version ?? 0);

const effectsOf = ({ effects }: Transaction) => {
  const { V2 } = effects.value;
  if (V2 === undefined) throw new Error("effects V2 expected");
  return V2;
};

const dataOf = ({ signed }: Transaction) => {
  const [first] = signed;
  if (first === undefined || signed.length !== 1)
    throw new Error("one signed transaction expected");
  return first;
};

const COUNT = 400;
let checkpoints: readonly { readonly bcs: Uint8Array; readonly protobuf: Uint8Array }[];
let parsed: readonly CheckpointData[];
let ledger: DemoLedger;

beforeAll(() => {
  ledger = createDemoLedger({ seed: "wire" });
  checkpoints = Array.from({ length: COUNT }, () => {
    const made = ledger.next();
    return { bcs: made.raw("bcs"), protobuf: made.raw("protobuf") };
  });
  parsed = checkpoints.map((made) => types.readCheckpointData(made.bcs));
});

const transactions = (): readonly Transaction[] =>
  parsed.flatMap(({ transactions }) => transactions);

test("the network's library parses every part and serialises it to the same bytes", () => {
  for (const { summary, contents, transactions } of parsed.slice(0, 150)) {
    expect(types.summary.serialize(summary.value).toBytes()).toEqual(summary.bytes);
    expect(types.contents.serialize(contents.value).toBytes()).toEqual(contents.bytes);
    for (const { signed, effects, events, inputs, outputs } of transactions) {
      const data = signed[0]?.data;
      expect(data && bcs.TransactionData.serialize(data.value).toBytes()).toEqual(data?.bytes);
      expect(bcs.TransactionEffects.serialize(effects.value).toBytes()).toEqual(effects.bytes);
      if (events !== null) {
        expect(types.events.serialize(events.value).toBytes()).toEqual(events.bytes);
      }
      for (const { value, bytes } of [...inputs, ...outputs]) {
        expect(types.object.serialize(value).toBytes()).toEqual(bytes);
      }
    }
  }
});

test("each checkpoint names its predecessor, counts on, and is never earlier", () => {
  let previous: string | null = null;
  let transactionsSoFar = 0n;
  let time = 0n;
  for (const [sequence, { summary, contents, transactions }] of parsed.entries()) {
    expect(summary.value.sequenceNumber).toBe(String(sequence));
    expect(summary.value.previousDigest === null ? null : text(summary.value.previousDigest)).toBe(
      previous,
    );
    expect(text(summary.value.contentDigest)).toBe(digest("CheckpointContents", contents.bytes));
    transactionsSoFar += BigInt(transactions.length);
    expect(BigInt(summary.value.networkTotalTransactions)).toBe(transactionsSoFar);
    expect(BigInt(summary.value.timestampMs)).toBeGreaterThanOrEqual(time);
    time = BigInt(summary.value.timestampMs);
    previous = digest("CheckpointSummary", summary.bytes);
  }
  expect(ledger.chainId).toBe(
    digest("CheckpointSummary", parsed[0]?.summary.bytes ?? new Uint8Array()),
  );
});

test("every digest of transactions, effects, events and objects matches the bytes", () => {
  for (const { contents, transactions } of parsed) {
    const listed = contents.value.V1?.transactions ?? [];
    expect(listed.length).toBe(transactions.length);
    for (const [index, transaction] of transactions.entries()) {
      const effects = effectsOf(transaction);
      const own = digest("TransactionData", dataOf(transaction).data.bytes);
      expect(effects.transactionDigest).toBe(own);
      expect(text(listed[index]?.transaction ?? [])).toBe(own);
      expect(text(listed[index]?.effects ?? [])).toBe(
        digest("TransactionEffects", transaction.effects.bytes),
      );
      expect(effects.eventsDigest).toBe(
        transaction.events === null ? null : digest("TransactionEvents", transaction.events.bytes),
      );
      const inputs = new Map(transaction.inputs.map((o) => [idOf(o), o]));
      const outputs = new Map(transaction.outputs.map((o) => [idOf(o), o]));
      for (const [id, { inputState, outputState }] of effects.changedObjects) {
        const before = inputs.get(id);
        const after = outputs.get(id);
        if (inputState.Exist !== undefined) {
          expect(before && String(versionOf(before))).toBe(inputState.Exist[0][0]);
          expect(before && digest("Object", before.bytes)).toBe(inputState.Exist[0][1]);
        } else expect(before).toBeUndefined();
        if (outputState.ObjectWrite !== undefined) {
          expect(after && digest("Object", after.bytes)).toBe(outputState.ObjectWrite[0]);
          expect(after && versionOf(after)).toBe(BigInt(effects.lamportVersion));
        } else if (outputState.PackageWrite !== undefined) {
          expect(after && digest("Object", after.bytes)).toBe(outputState.PackageWrite[1]);
        } else expect(after).toBeUndefined();
      }
      expect(inputs.size + outputs.size).toBe(
        effects.changedObjects.flatMap(([, { inputState, outputState }]) => [
          ...(inputState.Exist === undefined ? [] : [1]),
          ...(outputState.NotExist === undefined ? [1] : []),
        ]).length,
      );
    }
  }
});

test("objects, dependencies and versions have the network's order and size", () => {
  for (const transaction of transactions()) {
    const effects = effectsOf(transaction);
    const changed = effects.changedObjects.map(([id]) => id);
    expect(changed).toEqual([...changed].sort());
    expect(transaction.inputs.map(idOf)).toEqual(transaction.inputs.map(idOf).sort());
    const written = effects.changedObjects.filter(
      ([, { outputState }]) => outputState.NotExist === undefined,
    );
    const stood = (before: boolean) =>
      written
        .filter(([, { inputState }]) => (inputState.Exist !== undefined) === before)
        .map(([id]) => id);
    expect(transaction.outputs.map(idOf)).toEqual([...stood(true), ...stood(false)]);
    const dependencies = effects.dependencies.map((one) =>
      Buffer.from(fromBase58(one)).toString("hex"),
    );
    expect(dependencies).toEqual([...new Set(dependencies)].sort());
    for (const input of transaction.inputs) {
      expect(effects.dependencies).toContain(text(input.value.previousTransaction));
      expect(versionOf(input)).toBeLessThan(BigInt(effects.lamportVersion));
    }
  }
});

test("every transaction uses each object in the state the previous one left", () => {
  const live = new Map<string, string>();
  for (const transaction of transactions()) {
    for (const input of transaction.inputs) {
      expect(live.get(idOf(input))).toBe(digest("Object", input.bytes));
      live.delete(idOf(input));
    }
    const { kind, gasData } = dataOf(transaction).data.value.V1;
    for (const { objectId, digest: used } of kind.ProgrammableTransaction ? gasData.payment : []) {
      const coin = transaction.inputs.find((input) => idOf(input) === objectId);
      expect(coin && digest("Object", coin.bytes)).toBe(used);
    }
    for (const output of transaction.outputs)
      live.set(idOf(output), digest("Object", output.bytes));
  }
});

test("a transaction's cost equals what its coins lost", () => {
  const sui = (objects: readonly Stored[]) =>
    objects.reduce((sum, { value }) => {
      const { Move } = value.data;
      if (Move?.type.GasCoin === undefined) return sum;
      return sum + Buffer.from(Move.contents).readBigUInt64LE(32);
    }, 0n);
  for (const transaction of transactions().slice(1)) {
    const { gasUsed, gasObjectIndex, changedObjects } = effectsOf(transaction);
    const cost =
      BigInt(gasUsed.computationCost) + BigInt(gasUsed.storageCost) - BigInt(gasUsed.storageRebate);
    expect(sui(transaction.inputs) - sui(transaction.outputs)).toBe(cost);
    const { gasData, kind } = dataOf(transaction).data.value.V1;
    if (kind.ProgrammableTransaction === undefined) expect(gasObjectIndex).toBeNull();
    else expect(changedObjects[gasObjectIndex ?? -1]?.[0]).toBe(gasData.payment[0]?.objectId);
  }
});

test("users' signatures are real: Ed25519 over the intent and the transaction, by the sender's key", () => {
  const spki = Buffer.from("302a300506032b6570032100", "hex");
  let verified = 0;
  for (const transaction of transactions()) {
    const { data, signatures } = dataOf(transaction);
    const { kind, sender } = data.value.V1;
    const bytes = Uint8Array.from(signatures[0] ?? []);
    expect(bytes.length).toBe(97);
    if (kind.ProgrammableTransaction === undefined) {
      expect(bytes.every((byte) => byte === 0)).toBe(true);
      continue;
    }
    const publicKey = bytes.subarray(65);
    const owner = blake2b(Uint8Array.of(0, ...publicKey), { dkLen: 32 });
    expect(sender).toBe(`0x${Buffer.from(owner).toString("hex")}`);
    const signed = blake2b(Uint8Array.of(0, 0, 0, ...data.bytes), { dkLen: 32 });
    const key = createPublicKey({
      key: Buffer.concat([spki, publicKey]),
      format: "der",
      type: "spki",
    });
    expect(verify(null, signed, key, bytes.subarray(1, 65))).toBe(true);
    verified += 1;
  }
  expect(verified).toBeGreaterThan(500);
});

test("new objects have the ids that the network derives from their transactions", () => {
  for (const transaction of transactions().slice(1)) {
    const { changedObjects, transactionDigest } = effectsOf(transaction);
    const created = changedObjects.filter(([, change]) => change.idOperation.Created !== undefined);
    const derived = Array.from({ length: 16 }, (_, n) => {
      const index = Buffer.alloc(8);
      index.writeBigUInt64LE(BigInt(n));
      const bytes = Uint8Array.of(0xf1, ...fromBase58(transactionDigest), ...index);
      return `0x${Buffer.from(blake2b(bytes, { dkLen: 32 })).toString("hex")}`;
    });
    const fields = new Set(
      transaction.outputs
        .filter(({ value }) => {
          const { name } = value.data.Move?.type.Other ?? {};
          return name === "Field" || name === "Currency";
        })
        .map(idOf),
    );
    for (const [id] of created) if (!fields.has(id)) expect(derived).toContain(id);
  }
});

test("a registered currency ends with the framework's marker of new ones, and is read with and without it", () => {
  const mark = [
    Uint8Array.of(1),
    bcs.string().serialize("is_new_currency").toBytes(),
    bcs.string().serialize("bool").toBytes(),
    bcs.vector(bcs.u8()).serialize(Buffer.from("is_new_currency")).toBytes(),
  ].flatMap((part) => [...part]);
  const currencies = transactions().flatMap(({ outputs }) =>
    outputs.flatMap(({ value }) => {
      const { Move } = value.data;
      return Move?.type.Other?.name === "Currency" ? [Uint8Array.from(Move.contents)] : [];
    }),
  );
  expect(currencies.length).toBeGreaterThan(1);
  for (const contents of currencies) {
    const unmarked = contents.length - mark.length;
    expect([...contents.subarray(unmarked)]).toEqual(mark);
    const without = Uint8Array.from([...contents.subarray(0, unmarked), 0]);
    expect(decodeCurrency(without)).toEqual(decodeCurrency(contents));
  }
});

test("both wire formats hold the same checkpoint, and every digest in them is right", () => {
  for (const [sequence, { bcs: bytes, protobuf }] of checkpoints.entries()) {
    const asBcs = { sequence: BigInt(sequence), encoding: "bcs", bytes } as const;
    const asProtobuf = {
      sequence: BigInt(sequence),
      encoding: "protobuf",
      bytes: protobuf,
    } as const;
    expect(decodeCheckpoint(asProtobuf)).toEqual(decodeCheckpoint(asBcs));
    expect(checkDigests(asBcs).wrong).toEqual([]);
    expect(checkDigests(asProtobuf).wrong).toEqual([]);
  }
});

test("the protobuf names its parts as the network does, objects in order", () => {
  for (const [sequence, { protobuf }] of checkpoints.slice(0, 100).entries()) {
    const message = GrpcTypes.Checkpoint.fromBinary(protobuf);
    expect(Buffer.from(GrpcTypes.Checkpoint.toBinary(message)).equals(protobuf)).toBe(true);
    expect(message.sequenceNumber).toBe(BigInt(sequence));
    expect(message.summary?.bcs?.name).toBe("CheckpointSummary");
    expect(message.contents?.bcs?.name).toBe("CheckpointContents");
    const keys = (message.objects?.objects ?? []).map(
      ({ objectId, version }) => `${objectId} ${String(version).padStart(20, "0")}`,
    );
    expect(keys).toEqual([...new Set(keys)].sort());
    for (const { bcs, digest: said } of message.objects?.objects ?? []) {
      expect(digest("Object", bcs?.value ?? new Uint8Array())).toBe(said);
    }
  }
});
