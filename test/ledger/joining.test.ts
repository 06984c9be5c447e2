/** Upgrades of the contract as the ledger shows them, in made-up checkpoints. */
import { expect, test } from "vitest";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import { COIN, FOREIGN, ISSUER, OURS, OURS_V2 } from "./corpus.ts";
import { encodeFixture, type FixtureTransaction, structTag } from "./fixture.ts";
import { type FixtureObject, id } from "./fixture-object.ts";

const OURS_V3 = id(0x3333);

type Published = Pick<FixtureObject, "id" | "version" | "origins" | "dependencies">;

/** A transaction that publishes packages. */
const publishing = (...packages: readonly Published[]): FixtureTransaction => ({
  sender: ISSUER,
  changes: packages.map((one) => ({
    before: null,
    after: { ...one, type: null, owner: { Immutable: true } },
    operation: "Created",
  })),
});

/** A transaction with an event of a type that this package was the first to define. */
const announcing = (address: string): FixtureTransaction => ({
  sender: ISSUER,
  events: [
    {
      packageId: address,
      type: structTag(address, "freeze_rule", "AddressFrozen", [COIN]),
      contents: new Uint8Array(40),
    },
  ],
});

const SECOND = { id: OURS_V2, version: 2n, origins: [OURS, OURS, OURS_V2] };

const checkpoint = (...transactions: readonly FixtureTransaction[]) => {
  const { bcs, protobuf } = encodeFixture({ sequence: 12n, transactions });
  return [bcs, protobuf];
};

test("a package is read with its address, version and the origins of its types", () => {
  for (const raw of checkpoint(announcing(FOREIGN), publishing(SECOND))) {
    for (const wanted of [undefined, () => false]) {
      const { transactions } = decodeCheckpoint(raw, wanted);
      expect(transactions.map(({ packages }) => packages)).toEqual([
        [],
        [{ id: OURS_V2, version: 2n, typeOrigins: [OURS, OURS_V2] }],
      ]);
      expect(transactions[1]?.outputObjects).toEqual([]);
    }
  }
});

test("an upgrade joins in its checkpoint, with the facts of its own types", () => {
  for (const raw of checkpoint(publishing(SECOND), announcing(OURS_V2), announcing(OURS))) {
    const read = createCheckpointReader([OURS])(raw);
    expect(read.joined).toEqual([{ address: OURS_V2, checkpoint: 12n, transaction: 0 }]);
    expect(read.facts.map(({ transaction }) => transaction)).toEqual([1, 2]);
    // Known already, it is no news.
    const known = createCheckpointReader([OURS, OURS_V2])(raw);
    expect(known).toEqual({ ...read, joined: [] });
  }
});

test("among two upgrades in one transaction the later joins too, though it names only the earlier", () => {
  const third = { id: OURS_V3, version: 3n, origins: [OURS_V2, OURS_V3] };
  for (const raw of checkpoint(publishing(third, { ...SECOND, origins: [OURS, OURS_V2] }))) {
    const { joined } = createCheckpointReader([OURS])(raw);
    expect(joined.map(({ address }) => address)).toEqual([OURS_V2, OURS_V3]);
  }
});

test("a foreign package does not join, whatever it depends on", () => {
  const foreign = { id: FOREIGN, version: 1n, origins: [FOREIGN], dependencies: [OURS, OURS_V2] };
  const original = { id: OURS, version: 1n, origins: [OURS], dependencies: [FOREIGN] };
  for (const raw of checkpoint(publishing(foreign, original), announcing(FOREIGN))) {
    expect(createCheckpointReader([OURS, OURS_V2])(raw)).toMatchObject({
      skipped: false,
      joined: [],
      facts: [],
    });
  }
});
