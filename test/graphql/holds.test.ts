/** Followers of a coin that is held and released, alone and among others, over real connections. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createBook, type Hold } from "../../client/browser.ts";
import { TRANSFER } from "../../src/ledger/contract/names.ts";
import type { Fact } from "../../src/log/fact.ts";
import { factSource } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { releaseCoin } from "../../src/pipelines/release.ts";
import { damaged, isOfAcme, LAST, project, withHistory } from "../pipelines/held-history.ts";
import { ACME, BETA } from "../pipelines/token-facts.ts";
import { type Api, startApi } from "./api.ts";
import { type Received, subscribe, until } from "./streams.ts";

let setup: Awaited<ReturnType<typeof withHistory>>;
let api: Api;
beforeEach(async () => {
  setup = await withHistory();
  api = await startApi({ database: setup.database });
});
afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await setup[Symbol.asyncDispose]();
});

type Followed = {
  readonly name: string;
  /** Name an event. */
  readonly members: string;
  /** Where to continue after one. */
  readonly place: string;
  /** Before all. */
  readonly start: string;
  readonly isBad: (fact: Fact) => boolean;
};

const isTransferOfAcme = ({ name, coinType, checkpoint }: Fact) =>
  name === TRANSFER && coinType === ACME && checkpoint === 4n;

const CHANGES: Followed = {
  name: "balanceChanges",
  members: "position owner part",
  place: "cursor",
  start: "0:0x0:TOKENS",
  isBad: isOfAcme(4n),
};
const ACTIVITY: Followed = {
  name: "tokenActivity",
  members: "position",
  place: "position",
  start: "0",
  isBad: isTransferOfAcme,
};

/** Lets the pipelines come so far; ACME has a bad fact in checkpoint 4. */
const projectTo = (last: bigint, { isBad }: Followed) =>
  project(setup.database, damaged(factSource(setup.database), isBad), 7, last);

const release = async () => {
  for (const pipeline of ledgerPipelines) {
    const held = await releaseCoin({
      ...{ on: setup.database, pipeline, coinType: ACME, log: factSource(setup.database) },
      ...{ maxFacts: 5, maxBytes: 1_000_000, signal: new AbortController().signal },
    });
    expect(held).toBeNull();
  }
};

type Event = Readonly<Record<string, string>>;

type Extensions = { readonly hold?: Readonly<Record<string, string>>; readonly after?: string };

/** A result as JSON has it. */
const resultOf = (
  { data, extensions }: Received["results"][number],
  { name }: Followed,
): { readonly event: Event | undefined; readonly extensions: Extensions } => ({
  event: data?.[name] == null ? undefined : JSON.parse(JSON.stringify(data[name])),
  extensions: JSON.parse(JSON.stringify(extensions ?? {})),
});

const subscription = ({ name, members, place }: Followed, coins = "") =>
  `subscription ($after: String) {
    ${name}(after: $after ${coins}) { coinType checkpoint ${members} place: ${place} } }`;

const NONE: readonly Event[] = [];

const eventsOf = ({ results }: Pick<Received, "results">, of: Followed): readonly Event[] =>
  results.flatMap((result) => resultOf(result, of).event ?? NONE);

const holdsOf = ({ results }: Pick<Received, "results">, of: Followed) =>
  results.flatMap((result) => resultOf(result, of).extensions.hold ?? NONE);

/** The events of a coin, by what names them. */
const ofCoin = (events: readonly Event[], coin: string, { members }: Followed) =>
  events
    .filter(({ coinType }) => coinType === coin)
    .map((event) =>
      members
        .split(" ")
        .map((member) => event[member])
        .join(" "),
    );

/** All events of a coin that its query has. */
const listed = async (of: Followed, coin: string): Promise<readonly (string | undefined)[]> => {
  const { data } = await api.query(
    `{ rows: ${of.name}(coinType: "${coin}", limit: 1000, allowStale: true, after: "${of.start}") { coinType ${of.members} } }`,
  );
  return ofCoin(JSON.parse(JSON.stringify(data?.rows)), coin, of);
};

test("a follower of the held coin is told once, and gets every event after the release once and in order", async () => {
  const one = subscription(CHANGES, `coinType: "${ACME}"`);
  using events = subscribe(api, one, { after: CHANGES.start });
  await projectTo(3n, CHANGES);
  await projectTo(6n, CHANGES);
  await until("the hold", () => holdsOf(events, CHANGES).length > 0);
  const hold = { coinType: ACME, pipeline: "shared_token_objects", checkpoint: "4" };
  const after = expect.stringMatching(/^3999999999:0x0+:GRANTS$/);
  expect(holdsOf(events, CHANGES)).toMatchObject([{ ...hold, after }]);
  expect(events.results.at(-1)?.data).toBeNull();
  expect(eventsOf(events, CHANGES).every(({ checkpoint = "" }) => BigInt(checkpoint) < 4n)).toBe(
    true,
  );
  await projectTo(LAST, CHANGES);
  await release();
  const all = await listed(CHANGES, ACME);
  await until("all", () => eventsOf(events, CHANGES).length >= all.length);
  expect(ofCoin(eventsOf(events, CHANGES), ACME, CHANGES)).toEqual(all);
  expect(holdsOf(events, CHANGES)).toHaveLength(1);
});

test.each([
  { of: CHANGES, name: CHANGES.name, coins: "" },
  { of: CHANGES, name: CHANGES.name, coins: `coinTypes: ["${ACME}", "${BETA}"]` },
  { of: ACTIVITY, name: ACTIVITY.name, coins: "" },
])(
  "$name of several coins ($coins) goes on beside a held one, whose events then come once and in order",
  async ({ of, coins }) => {
    using events = subscribe(api, subscription(of, coins), { after: of.start });
    const got = (coin: string) => ofCoin(eventsOf(events, of), coin, of);
    await projectTo(6n, of);
    await until("the hold", () => holdsOf(events, of).length > 0);
    await projectTo(LAST, of);
    const beta = await listed(of, BETA);
    await until("other coins", () => got(BETA).length >= beta.length);
    const before = await listed(of, ACME);
    expect(got(ACME)).toEqual(before);

    await release();
    const all = await listed(of, ACME);
    expect(all.length).toBeGreaterThan(before.length);
    await until("the held coin", () => got(ACME).length >= all.length);
    expect(got(ACME)).toEqual(all);
    expect(got(BETA)).toEqual(beta);
    expect(holdsOf(events, of)).toHaveLength(1);
  },
);

test.each([
  { of: CHANGES, name: CHANGES.name },
  { of: ACTIVITY, name: ACTIVITY.name },
])(
  "a follower of $name that is cut anywhere before and after the release continues without gaps or repeats",
  async ({ of }) => {
    const got: Event[] = [];
    let after = of.start;
    const left = async () => {
      const all = [await listed(of, ACME), await listed(of, BETA)].flat();
      return all.length - ofCoin(got, ACME, of).length - ofCoin(got, BETA, of).length;
    };
    /** Takes some results of one connection after another, until all events are there. */
    const takeAll = async (atATime: number) => {
      for (let wanted = await left(); wanted > 0; wanted = await left()) {
        using events = subscribe(api, subscription(of), { after });
        const most = Math.min(wanted, atATime);
        await until(`${most} of ${wanted}`, () => events.results.length >= most);
        events.stop();
        for (const result of events.results.slice(0, most)) {
          const { event, extensions } = resultOf(result, of);
          if (event !== undefined) got.push(event);
          after = extensions.after ?? event?.place ?? after;
        }
      }
    };
    await projectTo(6n, of);
    await takeAll(3);
    await projectTo(LAST, of);
    await takeAll(2);
    await release();
    await takeAll(4);
    for (const coin of [ACME, BETA]) expect(ofCoin(got, coin, of)).toEqual(await listed(of, coin));
  },
);

test("the client tells of a hold, and a copy made before the release follows the held coin to its end", async () => {
  await projectTo(LAST, CHANGES);
  const book = createBook({ url: api.url, key: api.key });
  const [quarantined] = (await book.status()).flatMap((status) => status.quarantined);
  expect(quarantined).toMatchObject({ coinType: ACME, checkpoint: 4n });
  const before = await book.capTable({ coinType: ACME, at: { checkpoint: 3n } });
  const now = await book.capTable({ coinType: BETA });
  const after = `${now?.followCursor} ${ACME} ${before?.followCursor}`;

  const abort = new AbortController();
  const got: bigint[] = [];
  const all = (async () => {
    for await (const { coinType, position } of book.balanceChanges({
      after,
      signal: abort.signal,
    })) {
      expect(coinType).toBe(ACME);
      got.push(position);
    }
  })();
  const told: Hold[] = [];
  const untilTold = async () => {
    const onHold = (hold: Hold) => void told.push(hold);
    const { signal } = abort;
    for await (const _ of book.balanceChanges({ after: CHANGES.start, onHold, signal })) {
      if (told.length > 0) return;
    }
  };
  const others = untilTold();
  await until("the hold", () => told.length > 0);
  await release();
  const { data } = await api.query(
    `{ rows: balanceChanges(coinType: "${ACME}", limit: 1000, after: "${before?.followCursor}") { position } }`,
  );
  const rows: readonly { readonly position: string }[] = JSON.parse(JSON.stringify(data?.rows));
  await until("the held coin", () => got.length >= rows.length);
  expect(got.map(String)).toEqual(rows.map(({ position }) => position));
  await others;
  expect(told).toMatchObject([{ coinType: ACME, checkpoint: 4n, after: expect.any(String) }]);
  abort.abort();
  await expect(all).rejects.toThrow();
});

test("a place that is cut short is refused", async () => {
  await projectTo(LAST, ACTIVITY);
  using events = subscribe(api, subscription(ACTIVITY), { after: `12 ${ACME}` });
  await until("the refusal", () => events.results.length > 0);
  expect(events.results[0]?.errors?.[0]).toMatchObject({
    message: expect.stringContaining("after must be the place of an event"),
    extensions: { code: "BAD_USER_INPUT" },
  });
});
