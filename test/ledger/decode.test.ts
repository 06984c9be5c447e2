import { GrpcTypes } from "@mysten/sui/grpc";
import { describe, expect, test } from "vitest";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../src/ledger/decode/cursor.ts";
import { decodeCheckpoint, readSequenceOf } from "../../src/ledger/decode/decode.ts";
import { canonicalJson, checkDigests } from "../../src/ledger/reading/inspect.ts";
import { COIN_TYPE, encodedCorpus, FOREIGN, ISSUER, OURS, OURS_V2 } from "./corpus.ts";
import { id } from "./fixture-object.ts";

const [v2, v1] = encodedCorpus;
if (v2 === undefined || v1 === undefined) throw new Error("the corpus is empty");

const both = encodedCorpus.flatMap(({ bcs, protobuf }) => [bcs, protobuf]);
const label = ({ sequence, encoding }: RawCheckpoint) => `${sequence} (${encoding})`;

const message = (): GrpcTypes.Checkpoint => GrpcTypes.Checkpoint.fromBinary(v2.protobuf.bytes);
const decodeMessage = (checkpoint: GrpcTypes.Checkpoint) =>
  decodeCheckpoint({ ...v2.protobuf, bytes: GrpcTypes.Checkpoint.toBinary(checkpoint) });

describe("synthetic checkpoints", () => {
  test.each(encodedCorpus.map(({ bcs, protobuf }) => [bcs.sequence, bcs, protobuf] as const))(
    "%s reads the same from both encodings",
    (_, bcs, protobuf) => {
      expect(decodeCheckpoint(protobuf)).toEqual(decodeCheckpoint(bcs));
      expect(checkDigests(protobuf)).toEqual(checkDigests(bcs));
    },
  );

  test.each(both.map((raw) => [label(raw), raw] as const))(
    "%s has the digests its bytes give, and the number its summary says",
    (_, raw) => {
      const report = checkDigests(raw);
      expect(report.wrong).toEqual([]);
      expect(report.contents).toEqual({ checked: 1, wrong: 0 });
      expect(readSequenceOf(raw.encoding, raw.bytes)).toBe(raw.sequence);
      const { transactions } = decodeCheckpoint(raw);
      expect(report.transactions.checked).toBe(transactions.length);
    },
  );
});

describe.each([
  ["effects V2", v2.bcs],
  ["effects V1", v1.bcs],
])("a checkpoint with %s", (version, raw) => {
  const checkpoint = decodeCheckpoint(raw);
  const [, busy] = checkpoint.transactions;

  test("yields events as emitted, whoever's code ran", () => {
    expect(busy?.events.map(({ index, type }) => [index, type])).toEqual([
      [0, `${FOREIGN}::shared_token::Transfer<${COIN_TYPE}>`],
      [1, `${OURS}::shared_token::Transfer<${COIN_TYPE}>`],
      [2, `${OURS_V2}::freeze_rule::AddressFrozen<${COIN_TYPE}>`],
    ]);
    expect(busy?.events[1]).toMatchObject({
      packageId: OURS_V2,
      module: "running",
      sender: ISSUER,
    });
  });

  test("expands the types that the network shortens, with canonical addresses", () => {
    const types = busy?.outputObjects.map(({ type }) => type) ?? [];
    expect(types).toEqual(
      expect.arrayContaining([
        `${id(2)}::coin::Coin<${id(2)}::sui::SUI>`,
        `${id(3)}::staking_pool::StakedSui`,
        `${id(2)}::coin::Coin<${COIN_TYPE}>`,
        `${FOREIGN}::shared_token::SharedToken<vector<vector<u8>>,${OURS_V2}::a::B<u256,bool>>`,
      ]),
    );
    const balances = [`${id(2)}::sui::SUI`, COIN_TYPE].map(
      (coin) =>
        `${id(2)}::dynamic_field::Field<${id(2)}::accumulator::Key<${id(2)}::balance::Balance<${coin}>>,${id(2)}::accumulator::U128>`,
    );
    if (version === "effects V2") expect(types).toEqual(expect.arrayContaining(balances));
  });

  test("lists mutated, created and unwrapped objects in that order, without packages", () => {
    const ids = busy?.outputObjects.map((object) => object.id) ?? [];
    expect(ids.slice(0, 3)).toEqual([id(0x1001), id(0x2001), id(0x1002)]);
    expect(ids.at(-1)).toBe(id(0x1005));
    expect(checkpoint.transactions[3]?.outputObjects).toEqual([]);
  });

  test("lists deleted and wrapped objects as removed, with their previous version", () => {
    const type = `${OURS}::shared_token::SharedToken<${COIN_TYPE}>`;
    expect(busy?.removedObjects).toEqual([
      { id: id(0x1003), version: 9n, type },
      { id: id(0x1004), version: 9n, type },
    ]);
  });

  test("keeps the changes of a failed transaction", () => {
    expect(checkpoint.transactions[2]).toMatchObject({
      sender: id(0xf00),
      outputObjects: [{ id: id(0x1001), version: 21n }],
    });
  });

  test("reads every kind of owner", () => {
    const owners = new Map(busy?.outputObjects.map((object) => [object.id, object.owner]));
    expect(owners.get(id(0x1001))).toEqual({ kind: "shared", initialSharedVersion: 3n });
    expect(owners.get(id(0x2001))).toEqual({ kind: "address", address: ISSUER });
    expect(owners.get(id(0x2006))).toEqual({ kind: "immutable" });
    expect(owners.get(id(0x2009))).toEqual({ kind: "object", address: id(99) });
    expect(owners.get(id(0x2008))).toEqual({
      kind: "consensus",
      address: ISSUER,
      startVersion: 20n,
    });
    if (version !== "effects V2") return;
    expect(owners.get(id(0x200a))).toEqual({
      kind: "party",
      startVersion: 20n,
      defaultPermissions: 1n,
      members: [{ address: ISSUER, permissions: 127n }],
    });
    expect(canonicalJson(checkpoint)).toContain('"kind":"party"');
  });

  test("filters events without renumbering", () => {
    const wanted = decodeCheckpoint(raw, ({ address }) => address === OURS_V2);
    expect(wanted.transactions).toHaveLength(checkpoint.transactions.length);
    expect(wanted.transactions[1]?.events).toEqual([busy?.events[2]]);
    expect(wanted.transactions[1]?.outputObjects).toEqual(
      busy?.outputObjects.filter(({ type }) => type.startsWith(OURS_V2)),
    );
    expect(wanted.transactions[1]?.removedObjects).toEqual([]);
  });
});

describe("a protobuf checkpoint", () => {
  const parts: readonly (readonly [string, (m: GrpcTypes.Checkpoint) => void])[] = [
    ["summary.bcs", (m) => delete m.summary],
    ["summary.bcs", (m) => delete m.summary?.bcs],
    ["contents.bcs", (m) => delete m.contents?.bcs],
    ["transactions[1].transaction.bcs", (m) => delete m.transactions[1]?.transaction],
    ["transactions[2].effects.bcs", (m) => delete m.transactions[2]?.effects?.bcs],
    ["transactions[1].events.bcs", (m) => delete m.transactions[1]?.events],
    ["objects.objects[0].bcs", (m) => delete m.objects?.objects[0]?.bcs],
    ["object 0x", (m) => m.objects?.objects.pop()],
    ["objects", (m) => delete m.objects],
  ];

  test.each(parts)("without %s is an error that names it", (path, remove) => {
    const checkpoint = message();
    remove(checkpoint);
    expect(() => decodeMessage(checkpoint)).toThrow(CheckpointDecodeError);
    expect(() => decodeMessage(checkpoint)).toThrow(path);
    expect(() => decodeMessage(checkpoint)).toThrow("is missing");
  });

  test("may lack unread fields, have unknown ones, and order them freely", () => {
    const unknown = Buffer.from([0xfa, 0x7d, 3, 1, 2, 3, 0x80, 0x7d, 5]);
    const { signature: _, objects, transactions, ...rest } = message();
    const toBytes = (checkpoint: Partial<GrpcTypes.Checkpoint>) =>
      GrpcTypes.Checkpoint.toBinary({ transactions: [], ...checkpoint });
    const bytes = Buffer.concat([
      toBytes({ ...(objects && { objects }) }),
      unknown,
      toBytes({ transactions }),
      toBytes(rest),
    ]);
    expect(decodeCheckpoint({ ...v2.protobuf, bytes })).toEqual(decodeCheckpoint(v2.bcs));
  });

  test("with a digest that does not match its summary, or with another number, is refused", () => {
    const { digest } = decodeCheckpoint(v2.bcs);
    expect(() => decodeMessage({ ...message(), digest })).not.toThrow();
    expect(() => decodeMessage({ ...message(), digest: "1111" })).toThrow(digest);
    expect(() => decodeMessage({ ...message(), sequenceNumber: 5n })).toThrow("sequence_number");
    expect(() => decodeCheckpoint({ ...v2.protobuf, sequence: 5n })).toThrow("checkpoint 5, byte");
  });
});

test("an error names the checkpoint and the byte, and says to stop", () => {
  const bytes = v2.bcs.bytes.slice(0, -1);
  const error = (() => {
    try {
      return decodeCheckpoint({ ...v2.bcs, bytes });
    } catch (caught) {
      return caught;
    }
  })();
  expect(error).toMatchObject({ sequence: v2.bcs.sequence, remedy: "retry" });
  expect(error).toHaveProperty("message", expect.stringMatching(/^checkpoint 1001, byte \d+: /));
});

test("bytes after the checkpoint are an error", () => {
  const bytes = Buffer.concat([v2.bcs.bytes, Buffer.of(0)]);
  expect(() => decodeCheckpoint({ ...v2.bcs, bytes })).toThrow("1 bytes left over");
});

test("a wrong digest is reported with the expected and the computed one", () => {
  const bytes = Uint8Array.from(v2.bcs.bytes);
  const at = Buffer.from(bytes).indexOf(Buffer.alloc(40, 2)); // contents of an event
  bytes[at] = 3;
  const report = checkDigests({ ...v2.bcs, bytes });
  expect(report.events).toMatchObject({ wrong: 1 });
  expect(report.wrong).toEqual([
    {
      what: "events",
      where: "TransactionEvents of transaction 1",
      expected: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/),
      found: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/),
    },
  ]);
  expect(() => decodeCheckpoint({ ...v2.bcs, bytes })).toThrow(
    "TransactionEvents of transaction 1",
  );
});
