/** A copy of a checkpoint and what is followed behind it: together they are the register at the end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createBook } from "../../client/index.ts";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { search } from "../random.ts";
import { follow } from "../service/following.ts";
import { type Api, startApi } from "./api.ts";
import { ACME, address } from "./rows.ts";
import { commit, members, subscribe, until } from "./streams.ts";

const CHECKPOINTS = 220;
const LAST = CHECKPOINTS - 1;

let api: Api;
let coinTypes: string[];

beforeAll(async () => {
  api = await startApi();
  const ledger = createDemoLedger({ seed: 12, investors: 15 });
  coinTypes = ledger.coinTypes.map(({ coinType }) => coinType);
  const feed = await follow(api.database, ledger);
  const raws = Array.from({ length: CHECKPOINTS }, () => {
    const { sequence, raw } = ledger.next();
    return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
  });
  await feed.append(raws);
  await feed.project(500);
}, 120_000);
afterAll(() => api[Symbol.asyncDispose]());

const ask = async (query: string, variables: Record<string, unknown> = {}) => {
  const { data, errors } = await api.query(query, variables);
  expect(errors).toBeUndefined();
  return data ?? {};
};

const wallet = z.object({ address: z.string(), balance: z.string() });
const copyForm = z.object({
  _meta: z.object({ checkpoint: z.string(), followPosition: z.string() }),
  capTable: z
    .object({ followCursor: z.string(), rows: z.array(z.object({ wallets: z.array(wallet) })) })
    .nullable(),
  walletRoles: z.array(z.object({ owner: z.string(), roles: z.array(z.string()) })),
});

/** A coin's register at a checkpoint: balances and roles by owner, none of nothing. */
const copyOf = async (coinType: string, at: number) => {
  const { _meta, capTable, walletRoles } = copyForm.parse(
    await ask(
      `query ($coin: String!, $at: String!) {
        _meta(atCheckpoint: $at) { checkpoint followPosition }
        capTable(coinType: $coin, atCheckpoint: $at, limit: 1000) {
          followCursor rows { wallets { address balance } }
        }
        walletRoles(coinType: $coin, atCheckpoint: $at) { owner roles }
      }`,
      { coin: coinType, at: `${at}` },
    ),
  );
  expect(_meta.checkpoint).toBe(`${at}`);
  const held = (capTable?.rows ?? [])
    .flatMap(({ wallets }) => wallets)
    .filter(({ balance }) => balance !== "0")
    .map(({ address: owner, balance }) => [`${coinType} ${owner}`, BigInt(balance)] as const);
  const roles = walletRoles.flatMap(({ owner, roles: each }) =>
    each.map((role) => `${coinType} ${owner} ${role}`),
  );
  const { followPosition } = _meta;
  return { held, roles, followPosition, followCursor: capTable?.followCursor };
};

const copies = async (at: number) => {
  const all = await Promise.all(coinTypes.map((coinType) => copyOf(coinType, at)));
  return {
    held: new Map(all.flatMap(({ held }) => held)),
    roles: new Set(all.flatMap(({ roles }) => roles)),
    followPosition: all[0]?.followPosition ?? "",
    // Before any token was seen, everything comes after the copy.
    followCursor:
      all.find(({ followCursor }) => followCursor !== undefined)?.followCursor ?? "0:0x0:TOKENS",
  };
};

const FIELDS = {
  tokenActivity: "coinType eventId position",
  holderEvents: "coinType eventId position",
  roleEvents: "coinType owner role granted position",
  balanceChanges: "coinType owner change cursor position",
};
type Log = keyof typeof FIELDS;

const event = z.object({
  coinType: z.string(),
  position: z.string(),
  owner: z.string().default(""),
  role: z.string().default(""),
  granted: z.boolean().default(false),
  change: z.string().default("0"),
  cursor: z.string().default(""),
});
type Event = z.infer<typeof event>;

/** All there is of a coin's log behind a place, by queries. */
const listed = async (log: Log, coinType: string, after: string | null): Promise<Event[]> => {
  const rows: Event[] = [];
  for (let place = after; ; ) {
    const data = await ask(
      `query ($coin: String!, $after: String) {
        ${log}(coinType: $coin, after: $after, limit: 1000) { ${FIELDS[log]} } }`,
      { coin: coinType, after: place },
    );
    const page = z.array(event).parse(data[log]);
    rows.push(...page);
    const last = page.at(-1);
    if (last === undefined) return rows;
    place = log === "balanceChanges" ? last.cursor : last.position;
  }
};

/** The first events of a subscription to some coin types, or to all. */
const followed = async (
  log: Log,
  after: string | null,
  count: number,
  few?: readonly string[],
): Promise<Event[]> => {
  using stream = subscribe(
    api,
    `subscription ($after: String, $few: [String!]) {
      ${log}(coinTypes: $few, after: $after) { ${FIELDS[log]} } }`,
    { after, few },
  );
  await stream.atLeast(count);
  return stream.results.map(({ data, errors }) => {
    expect(errors).toBeUndefined();
    return event.parse(data?.[log]);
  });
};

const inOrder = (events: readonly Event[]) =>
  events.every(
    ({ position }, n) => BigInt(position) >= BigInt(events[n - 1]?.position ?? position),
  );

test("a copy at any checkpoint plus the later events gives the final register, for all coins together", async () => {
  const end = await copies(LAST);
  await search(
    fc.asyncProperty(fc.integer({ min: 0, max: LAST - 1 }), async (at) => {
      const copy = await copies(at);
      const behind = async (log: Log, after: string | null) =>
        (await Promise.all(coinTypes.map((coinType) => listed(log, coinType, after)))).flat();

      const expected = await behind("balanceChanges", copy.followCursor);
      const changes = await followed("balanceChanges", copy.followCursor, expected.length);
      expect(changes).toHaveLength(expected.length);
      expect(inOrder(changes)).toBe(true);
      expect(changes.every(({ position }) => BigInt(position) > BigInt(copy.followPosition))).toBe(
        true,
      );
      const held = new Map<string, bigint>(copy.held);
      for (const { coinType, owner, change } of changes) {
        const place = `${coinType} ${owner}`;
        const balance = (held.get(place) ?? 0n) + BigInt(change);
        if (balance === 0n) held.delete(place);
        else held.set(place, balance);
      }
      expect(held).toEqual(end.held);

      const roleCount = (await behind("roleEvents", copy.followPosition)).length;
      const roles = new Set<string>(copy.roles);
      for (const { coinType, owner, role, granted } of await followed(
        "roleEvents",
        copy.followPosition,
        roleCount,
      )) {
        if (granted) roles.add(`${coinType} ${owner} ${role}`);
        else roles.delete(`${coinType} ${owner} ${role}`);
      }
      expect(roles).toEqual(end.roles);

      for (const log of ["holderEvents", "tokenActivity"] as const) {
        const all = await behind(log, null);
        const copied = all.filter(
          ({ position }) => BigInt(position) <= BigInt(copy.followPosition),
        );
        const rest = await followed(log, copy.followPosition, all.length - copied.length);
        expect(inOrder(rest)).toBe(true);
        const keyOf = ({ coinType, position }: Event) => `${position} ${coinType}`;
        expect([...copied, ...rest].map(keyOf).toSorted()).toEqual(all.map(keyOf).toSorted());
      }
    }),
    8,
    { examples: [[LAST - 1], [5]] },
  );
}, 120_000);

test("a cursor among several coin types resumes right after its event, for all coins, some and an owner", async () => {
  const few = coinTypes.slice(0, 2);
  const count = async (which: readonly string[]) =>
    (await Promise.all(which.map((coinType) => listed("balanceChanges", coinType, null)))).flat()
      .length;
  for (const which of [undefined, few]) {
    const all = await followed(
      "balanceChanges",
      "0:0x0:TOKENS",
      await count(which ?? coinTypes),
      which,
    );
    expect(new Set(all.map(({ coinType }) => coinType)).size).toBe((which ?? coinTypes).length);
    for (const at of [0, 7, Math.floor(all.length / 2)]) {
      const rest = await followed(
        "balanceChanges",
        all[at]?.cursor ?? "",
        all.length - at - 1,
        which,
      );
      expect(rest).toEqual(all.slice(at + 1));
    }
  }
});

test("an open subscription to all coins includes future ones, one to some coins does not, both in order", async () => {
  await using own = await startApi();
  const [other, later] = [`${address("07")}::o::O`, `${address("08")}::l::L`];
  await commit(own.database, 1n, 2, ACME);
  const document = `subscription ($few: [String!]) {
    tokenActivity(coinTypes: $few, after: "0") { coinType position } }`;
  using all = subscribe(own, document);
  using some = subscribe(own, document, { few: [ACME, other, ACME] });
  await all.atLeast(2);
  await commit(own.database, 2n, 1, other);
  await commit(own.database, 3n, 2, later);
  await commit(own.database, 4n, 1, ACME);
  await all.atLeast(6);
  await some.atLeast(4);
  const coins = (received: typeof all) => members(received, "tokenActivity", "coinType");
  expect(coins(all)).toEqual([ACME, ACME, other, later, later, ACME]);
  expect(coins(some)).toEqual([ACME, ACME, other, ACME]);
});

test("coins to follow are selected in exactly one way, within bounds", async () => {
  const refusal = async (args: string) => {
    using stream = subscribe(api, `subscription { balanceChanges(${args}) { cursor } }`);
    await until("an answer", async () => stream.results.length > 0);
    const [error] = stream.results[0]?.errors ?? [];
    return [error?.extensions?.code, error?.message];
  };
  const many = JSON.stringify(Array.from({ length: 101 }, () => "0x2::a::A"));
  expect(await refusal(`coinType: "0x2::a::A", coinTypes: ["0x2::a::A"]`)).toEqual([
    "BAD_USER_INPUT",
    "give coinType or coinTypes, not both",
  ]);
  for (const [list, length] of [
    ["[]", 0],
    [many, 101],
  ]) {
    expect(await refusal(`coinTypes: ${list}`)).toEqual([
      "BAD_USER_INPUT",
      `coinTypes must be 1 to 100 coin types; they are ${length}. Leave it out for all coins`,
    ]);
  }
  expect(await refusal(`owner: "0x2"`)).toEqual([
    "BAD_USER_INPUT",
    "give coinType or coinTypes together with owner",
  ]);
  const [first = ""] = coinTypes;
  expect(await refusal(`coinType: "${first}", after: "1:0x2:TOKENS:${first}"`)).toEqual([
    "BAD_USER_INPUT",
    "after is the cursor of a subscription to several coin types; give one of this coin type",
  ]);
});

test("the client's copy is followed by exactly what comes after it, also after a break", async () => {
  const book = createBook({ url: api.url, key: api.key });
  const early = 60;
  for (const coinType of coinTypes) {
    const heldAt = async (checkpoint: number) => {
      const { held } = await copyOf(coinType, checkpoint);
      return new Map(held.map(([place, balance]) => [place.slice(coinType.length + 1), balance]));
    };
    for await (const copy of book.follow({ coinType })) {
      expect([copy.change, copy.balances]).toEqual([null, await heldAt(LAST)]);
      break;
    }
    const { followCursor: cursor = "0:0x0:TOKENS" } = await copyOf(coinType, early);
    const left = (await listed("balanceChanges", coinType, cursor)).length;
    let kept = { cursor, balances: await heldAt(early) };
    let applied = 0;
    // Breaks off after each third of what comes, and goes on from what was kept.
    while (applied < left) {
      const most = Math.min(left, applied + Math.ceil(left / 3));
      for await (const { cursor: place, balances, change } of book.follow({
        coinType,
        from: kept,
      })) {
        if (change !== null) applied += 1;
        kept = { cursor: place, balances: new Map(balances) };
        if (applied === most) break;
      }
    }
    expect(left).toBeGreaterThan(0);
    expect(kept.balances).toEqual(await heldAt(LAST));
  }
});

test("the program of the documentation copies all registers and prints later events", async () => {
  const example = fileURLToPath(new URL("../../docs/examples/follow.mjs", import.meta.url));
  const copy = await copies(LAST);
  const child = spawn(process.execPath, [example, api.url, api.key], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let printed = "";
    child.stdout.on("data", (piece) => {
      printed += piece;
    });
    await until(`the copy; printed is ${printed}`, () => printed.includes("\n"));
    expect(printed).toMatch(new RegExp(`^copied \\d+ balances at checkpoint ${LAST}\n`));
    expect(Number(/\d+/.exec(printed)?.[0])).toBeGreaterThanOrEqual(copy.held.size);
  } finally {
    child.kill();
    await once(child, "exit");
  }
});
