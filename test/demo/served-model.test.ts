/** The whole way from wire bytes to answers, held against what the simulated issuer knows to be true. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { COMPANY_SPAN_MS } from "../../demo/company/two-years.ts";
import { createDemoLedger, type DemoLedger } from "../../demo/demo-ledger.ts";
import { balancesOf, type EventPlace } from "../../demo/model.ts";
import { tokenBalance, tokenHolders } from "../../src/projections/balances.ts";
import { holderEvents } from "../../src/projections/holder-events.ts";
import { roleEvents, walletRoles } from "../../src/projections/roles.ts";
import { tokenObjects } from "../../src/projections/shared-token-objects.ts";
import { tokenTimelocks } from "../../src/projections/timelock-objects.ts";
import { tokenActivity } from "../../src/projections/token-activity.ts";
import { decimalsOf } from "../log/decimals.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { follow } from "../service/following.ts";

/** More than any list of these ledgers has. */
const ALL = 1_000_000;

/** Everything that is served must be what the model says. */
const compare = async ({ db }: TestDatabase, ledger: DemoLedger) => {
  const { model, packages } = ledger;
  const decimals = await decimalsOf(db, [...model.coins.keys()]);
  for (const [coinType, coin] of model.coins) {
    const where = `${coin.symbol} after checkpoint ${ledger.nextSequence - 1n}`;
    expect(decimals.get(coinType), where).toBe(coin.decimals);

    const balances = balancesOf(model, coinType);
    const holders = await tokenHolders(db, { coinType, limit: ALL });
    const expected = [...balances]
      .map(([owner, held]) => ({
        owner,
        balance: held.tokens + held.grants,
        timelockBalance: held.grants,
        timelocksIncluded: true,
      }))
      .filter(({ balance }) => balance > 0n)
      .sort((a, b) =>
        a.balance === b.balance ? (a.owner < b.owner ? -1 : 1) : a.balance < b.balance ? 1 : -1,
      );
    expect(holders, where).toEqual(expected);
    const held = holders.reduce((sum, { balance }) => sum + balance, 0n);
    expect(held, `supply of ${where}`).toBe(coin.supply);

    const owners = [...balances].map(
      async ([owner, { tokens, tokenCount, grants, grantCount }]) => {
        expect(await tokenBalance(db, { coinType, owner }), where).toEqual({
          owner,
          balance: tokens + grants,
          objectCount: tokenCount,
          timelockBalance: grants,
          timelockCount: grantCount,
          timelocksIncluded: true,
        });
        const objects = [...model.tokens.values()]
          .filter((token) => token.coinType === coinType && token.owner === owner)
          .map(({ id, balance, version, checkpoint }) => ({
            objectId: id,
            owner,
            balance,
            version,
            checkpoint,
          }))
          .sort((a, b) => (a.objectId < b.objectId ? -1 : 1));
        expect(await tokenObjects(db, { coinType, owner, limit: ALL }), where).toEqual(objects);
      },
    );
    await Promise.all(owners);

    const grants = [...model.grants.values()]
      .filter((grant) => grant.coinType === coinType)
      .map(({ id, coinType: _coin, version: _version, checkpoint: _checkpoint, ...grant }) => ({
        objectId: id,
        ...grant,
      }))
      .sort((a, b) =>
        a.commencementTimestampMs === b.commencementTimestampMs
          ? a.objectId < b.objectId
            ? -1
            : 1
          : a.commencementTimestampMs < b.commencementTimestampMs
            ? -1
            : 1,
      );
    expect(await tokenTimelocks(db, { coinType, limit: ALL }), where).toEqual(grants);

    const roles = [...(model.roles.get(coinType) ?? [])].filter(([, held]) => held.length > 0);
    const served = await walletRoles(db, { coinType, packages });
    expect(
      served.map(({ owner, roles: names }) => [owner, names]),
      where,
    ).toEqual(
      roles
        .map(([owner, names]) => [owner, [...names].sort()])
        .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    );

    const here = <Event extends EventPlace>(events: readonly Event[]) =>
      events.filter((event) => event.coinType === coinType);
    const activity = await tokenActivity(db, { coinType, limit: ALL, offset: 0, order: "asc" });
    expect(activity, where).toMatchObject(
      here(model.activity).map(({ eventId: _id, ...event }) => event),
    );
    expect(activity.length, where).toBe(here(model.activity).length);
    const register = await holderEvents(db, { coinType, limit: ALL });
    expect(register.map(identity), where).toEqual(here(model.holderEvents).map(identity));
    expect(register, where).toMatchObject(
      here(model.holderEvents).map(({ eventType, holderId, address, groupId, isFrozen }) => ({
        eventType,
        holderId,
        address,
        groupId,
        isFrozen,
      })),
    );
    const granted = await roleEvents(db, { coinType, packages, limit: ALL });
    expect(granted.map(identity), where).toEqual(here(model.roleEvents).map(identity));
    expect(granted, where).toMatchObject(
      here(model.roleEvents).map(({ owner, role, granted: given, signer }) => ({
        owner,
        role,
        granted: given,
        signer,
      })),
    );
  }
};

const identity = ({
  txDigest,
  eventSeq,
  position,
}: Pick<EventPlace, "txDigest" | "eventSeq" | "position">) =>
  `${txDigest}-${eventSeq} at ${position}`;

/** Options of the two stories; the company's two years take the 300 checkpoints that most histories have. */
const FOUNDED = 1_735_689_600_000n;
const STORIES = [
  { story: "chance", runs: 3, options: {} },
  {
    story: "company",
    runs: 2,
    options: {
      foundedMs: FOUNDED,
      genesisTimeMs: FOUNDED,
      intervalMs: COMPANY_SPAN_MS / 300n,
    },
  },
];

test.each(STORIES)(
  "after any history of $story and any batches, every answer matches the issuer's model",
  async ({ runs, options }) => {
    await search(
      fc.asyncProperty(
        fc.nat(1_000_000),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.array(
          fc.record({
            checkpoints: fc.integer({ min: 1, max: 120 }),
            maxFacts: fc.integer({ min: 1, max: 400 }),
          }),
          { minLength: 3, maxLength: 6 },
        ),
        async (seed, noise, batches) => {
          await using database = await freshDatabase();
          const ledger = createDemoLedger({ seed, noise, investors: 15, ...options });
          const following = await follow(database, ledger);
          for (const { checkpoints, maxFacts } of batches) {
            // Every other checkpoint comes in the other encoding.
            const raws = Array.from({ length: checkpoints }, () => {
              const { sequence, raw } = ledger.next();
              const encoding = sequence % 2n === 0n ? "bcs" : "protobuf";
              return { sequence, encoding, bytes: raw(encoding) } as const;
            });
            await following.append(raws);
            await following.project(maxFacts);
            await compare(database, ledger);
          }
        },
      ),
      runs,
    );
  },
  60_000,
);
