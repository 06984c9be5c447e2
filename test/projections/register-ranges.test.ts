/** Memberships, groups, freezes and roles as they are kept: rows and what they say of every checkpoint. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STILL_OPEN } from "../../src/projections/ranges.ts";
import * as say from "../pipelines/token-facts.ts";
import { ACME, batchOf, type SaidCheckpoint } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { modelOf } from "./plain-model.ts";
import { project } from "./project.ts";
import { cuts, OWNERS } from "./random-history.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
});
afterAll(() => database.close());

const [ALICE = "", BOB = ""] = OWNERS;
const role = (name: string) => `${say.PACKAGE.slice(2)}::roles::${name}`;
const ROLES = ["ContractAdmin", "Other"].map(role);

const addr = fc.constantFrom(ALICE, BOB);
const id = fc.constantFrom(1n, 2n);

/** Few wallets and values: what is said again, taken back and said anew meets within checkpoints. */
const said = fc.oneof(
  fc.record({ holderId: id, addr }).map((of) => say.addressAdded(of)),
  fc.record({ holderId: id, addr }).map((of) => say.addressRemoved(of)),
  fc.record({ groupId: id, addr }).map((of) => say.joinedGroup(of)),
  fc.record({ groupId: id, addr }).map((of) => say.leftGroup(of)),
  fc.record({ addr, isFrozen: fc.boolean() }).map((of) => say.frozen(of)),
  fc
    .record({ owner: addr, role: fc.constantFrom(...ROLES), granted: fc.boolean() })
    .map((of) => say.roleChanged(of)),
);

const register: fc.Arbitrary<readonly SaidCheckpoint[]> = fc
  .array(fc.array(fc.array(said, { maxLength: 5 }), { maxLength: 3 }), {
    minLength: 1,
    maxLength: 14,
  })
  .map((all) => all.map((transactions, n) => ({ sequence: BigInt(n), transactions })));

/** The longest ranges of equal states, from what stood at the end of each checkpoint. */
const rangesOf = (states: readonly ReadonlyMap<string, unknown>[]) => {
  const rows: string[] = [];
  const keys = new Set(states.flatMap((state) => [...state.keys()]));
  for (const key of keys) {
    let since = 0;
    for (let n = 1; n <= states.length; n += 1) {
      const value = states[since]?.get(key);
      if (n < states.length && states[n]?.get(key) === value) continue;
      const until = n < states.length ? n : STILL_OPEN;
      if (value !== undefined) rows.push(`${key} ${value} [${since}, ${until})`);
      since = n;
    }
  }
  return rows.toSorted();
};

/** All ranges that are kept, in the same words. */
const kept = async () => {
  const memberships = await database.sql<{ range: string }[]>`
    select format('%s %s %s [%s, %s)', address, aspect, value, checkpoint, until) as range
    from membership_ranges`;
  const roles = await database.sql<{ range: string }[]>`
    select format('%s %s true [%s, %s)', owner, role, checkpoint, until) as range from role_ranges`;
  const sorted = (rows: readonly { readonly range: string }[]) =>
    rows.map(({ range }) => range).toSorted();
  return { memberships: sorted(memberships), roles: sorted(roles) };
};

const expected = (checkpoints: readonly SaidCheckpoint[]) => {
  const models = checkpoints.map((_, n) => modelOf(batchOf(checkpoints.slice(0, n + 1)).facts));
  return {
    memberships: rangesOf(models.map((model) => model.memberships(ACME))),
    roles: rangesOf(
      models.map(
        (model) =>
          new Map(
            model
              .walletRoles(ACME, [])
              .flatMap(({ owner, roles }) => roles.map((held) => [`${owner} ${held}`, true])),
          ),
      ),
    ),
  };
};

test("after any history in any batches, and after a rebuild, each period of a state has one range", async () => {
  await search(
    fc.asyncProperty(register, cuts, cuts, async (checkpoints, some, others) => {
      const ranges = expected(checkpoints);
      for (const ends of [some, others]) {
        await project(database, checkpoints, [[], [], [], ends, ends]);
        expect(await kept()).toEqual(ranges);
      }
    }),
    30,
  );
});

/** The ranges that these checkpoints leave, each applied by itself, or all of them at once. */
const leftBy = async (...checkpoints: readonly (readonly say.Said[])[]) => {
  const all = checkpoints.map((one, n) => ({ sequence: BigInt(n), transactions: [one] }));
  const left = [];
  for (const ends of [all.map(() => true), []]) {
    await project(database, all, [[], [], [], ends, ends]);
    const { memberships, roles } = await kept();
    left.push([...memberships, ...roles].map((row) => row.replace(ALICE, "alice")));
  }
  expect(left[0]).toEqual(left[1]);
  return left[0];
};

test("a change from one group to another ends a range and begins one at the same checkpoint", async () => {
  const joined = (groupId: bigint) => say.joinedGroup({ addr: ALICE, groupId });
  expect(await leftBy([joined(4n)], [], [joined(5n)])).toEqual([
    "alice group 4 [0, 2)",
    `alice group 5 [2, ${STILL_OPEN})`,
  ]);
});

test("a state that begins and ends within a checkpoint leaves no range, and one interrupted within it continues", async () => {
  const frozen = (isFrozen: boolean) => say.frozen({ addr: ALICE, isFrozen });
  const granted = (is: boolean) =>
    say.roleChanged({ owner: ALICE, role: ROLES[0] ?? "", granted: is });
  expect(
    await leftBy(
      [frozen(true), frozen(false), granted(true)],
      [granted(false), granted(true)],
      [granted(true)],
      [frozen(true), granted(false), granted(true), granted(false)],
      [frozen(true)],
    ),
  ).toEqual([`alice freeze 1 [3, ${STILL_OPEN})`, `alice 0x${ROLES[0]} true [0, 3)`]);
});

test("a role whose type is too long for a key leaves no range, also alone in its batch", async () => {
  const long = say.roleChanged({ owner: ALICE, role: role("R".repeat(1_024)), granted: true });
  expect(await leftBy([long], [long, say.frozen({ addr: ALICE, isFrozen: true })])).toEqual([
    `alice freeze 1 [1, ${STILL_OPEN})`,
  ]);
});

test("a large batch leaves the ranges that small ones leave", async () => {
  const wallet = (n: number) => `0x${n.toString(16).padStart(64, "0")}`;
  const checkpoints = Array.from({ length: 6 }, (_, sequence) => ({
    sequence: BigInt(sequence),
    transactions: [
      Array.from({ length: 120 }, (_, n) =>
        say.joinedGroup({ addr: wallet((n * 7 + sequence) % 300), groupId: BigInt(sequence % 2) }),
      ),
      Array.from({ length: 120 }, (_, n) =>
        say.roleChanged({
          owner: wallet((n * 3 + sequence) % 300),
          role: ROLES[n % 2] ?? "",
          granted: (n + sequence) % 3 > 0,
        }),
      ),
    ],
  }));
  const ranges = expected(checkpoints);
  for (const ends of [checkpoints.map(() => true), []]) {
    await project(database, checkpoints, [[], [], [], ends, ends]);
    expect(await kept()).toEqual(ranges);
  }
  expect(ranges.memberships.length).toBeGreaterThan(300);
  expect(ranges.roles.length).toBeGreaterThan(200);
});
