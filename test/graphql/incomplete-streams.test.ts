/** Followers of a coin that a proof found incomplete: told once, and the rest comes after the next proof. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { factSource } from "../../src/log/log.ts";
import { keepProof } from "../audit/complete-proofs.ts";
import { LAST, project, withHistory } from "../pipelines/held-history.ts";
import { ACME, BETA } from "../pipelines/token-facts.ts";
import { type Api, startApi } from "./api.ts";
import { type Received, subscribe, until } from "./streams.ts";

let setup: Awaited<ReturnType<typeof withHistory>>;
let api: Api;
beforeEach(async () => {
  setup = await withHistory();
  api = await startApi({ database: setup.database });
  await project(setup.database, factSource(setup.database), 7, LAST);
});
afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await setup[Symbol.asyncDispose]();
});

const START = "0:0x0:TOKENS";
const MISSING = { coinType: ACME, objectId: "0x7", version: "9", from: "4", why: "not read" };

type Event = { readonly coinType: string; readonly checkpoint: string; readonly cursor: string };
type Said = { readonly hold?: { readonly coinType: string; readonly pipeline: string } };

const eventsIn = ({ results }: Pick<Received, "results">): readonly Event[] =>
  results.flatMap(({ data }) => {
    const event = data?.balanceChanges;
    return event == null ? [] : [JSON.parse(JSON.stringify(event))];
  });

const holdsIn = ({ results }: Pick<Received, "results">) =>
  results.flatMap(({ extensions }) => {
    const said: Said = JSON.parse(JSON.stringify(extensions ?? {}));
    return said.hold ?? [];
  });

const placesOf = (events: readonly Event[], coin: string) =>
  events.filter(({ coinType }) => coinType === coin).map(({ checkpoint }) => checkpoint);

/** Checkpoints of a coin's movements, as the query lists them. */
const listed = async (coin: string): Promise<readonly string[]> => {
  const { data } = await api.query(
    `{ balanceChanges(coinType: "${coin}", limit: 1000) { coinType checkpoint cursor } }`,
  );
  return placesOf(JSON.parse(JSON.stringify(data?.balanceChanges)), coin);
};

test.each([
  { name: "one coin", coins: `coinType: "${ACME}"`, others: [] },
  { name: "several coins", coins: `coinTypes: ["${ACME}", "${BETA}"]`, others: [BETA] },
  { name: "all coins", coins: "", others: [BETA] },
])(
  "a follower of $name is told of an incomplete coin, and gets its rest once it is proven complete",
  async ({ coins, others }) => {
    const all = new Map<string, readonly string[]>();
    for (const coin of [ACME, ...others]) all.set(coin, await listed(coin));
    const acme = all.get(ACME) ?? [];
    const before = acme.filter((checkpoint) => BigInt(checkpoint) < 4n);
    expect(before.length).toBeGreaterThan(0);
    expect(acme.length).toBeGreaterThan(before.length);

    await keepProof(setup.database, { through: LAST, incomplete: [MISSING] });
    using events = subscribe(
      api,
      `subscription ($after: String) {
      balanceChanges(after: $after ${coins}) { coinType checkpoint cursor } }`,
      { after: START },
    );
    await until("the hold", () => holdsIn(events).length > 0);
    expect(holdsIn(events)).toMatchObject([{ coinType: ACME, pipeline: "completeness" }]);
    for (const coin of others) {
      const expected = all.get(coin) ?? [];
      await until(coin, () => placesOf(eventsIn(events), coin).length >= expected.length);
    }
    expect(placesOf(eventsIn(events), ACME)).toEqual(before);

    await keepProof(setup.database, { through: LAST });
    await until("the rest", () => placesOf(eventsIn(events), ACME).length >= acme.length);
    for (const [coin, expected] of all) expect(placesOf(eventsIn(events), coin)).toEqual(expected);
    expect(holdsIn(events)).toHaveLength(1);
  },
);
