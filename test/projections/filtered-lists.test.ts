/** Every filter of the event lists, alone and together, against the whole list filtered in memory. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { balanceChanges, CAUSES } from "../../src/projections/balance-changes.ts";
import { holderPeriods, holdersAt, placeKey } from "../../src/projections/event-holders.ts";
import { allOf, type WalletPeriod } from "../../src/projections/event-range.ts";
import {
  HOLDER_EVENT_TYPES,
  type HolderEvent,
  holderEvents,
} from "../../src/projections/holder-events.ts";
import { transactionAt } from "../../src/projections/position.ts";
import { roleEvents } from "../../src/projections/roles.ts";
import { ACTIVITY_TYPES, tokenActivity } from "../../src/projections/token-activity.ts";
import { PACKAGE } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { project } from "./project.ts";
import { COINS, cuts, history, OWNERS } from "./random-history.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
});
afterAll(() => database.close());

const LIMIT = 1_000;
const HOLDERS = [0n, 1n, 2n] as const;
const CHECKPOINT = 1_000_000_000n;

const some = <Type>(all: readonly Type[]) => fc.option(fc.subarray([...all], { minLength: 1 }));

const asked = fc.record({
  coinType: fc.constantFrom(...COINS),
  order: fc.constantFrom("asc", "desc"),
  owner: fc.option(fc.constantFrom(...OWNERS)),
  holderId: fc.option(fc.constantFrom(...HOLDERS)),
  activity: some(ACTIVITY_TYPES),
  causes: some(CAUSES),
  register: some(HOLDER_EVENT_TYPES),
  from: fc.option(fc.bigInt({ min: 0n, max: 13n })),
  to: fc.option(fc.bigInt({ min: 0n, max: 13n })),
  limit: fc.integer({ min: 1, max: 4 }),
  offset: fc.integer({ min: 0, max: 3 }),
});

/** A wallet's holder after its events up to a position, from the whole register. */
const holderIn =
  (register: readonly HolderEvent[]) =>
  (address: string | null, position: bigint): bigint | null => {
    const own = register.filter((event) => event.address === address && event.holderId !== null);
    const newest = own.filter((event) => event.position <= position).at(-1);
    return newest?.eventType === "holder_address_added" ? newest.holderId : null;
  };

/** All pages of a list, one after the other. */
const paged = async <Row, Place>(
  limit: number,
  page: (after: Place | undefined) => Promise<readonly Row[]>,
  placeOf: (row: Row) => Place,
): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  for (;;) {
    const last = rows.at(-1);
    const next = await page(last === undefined ? undefined : placeOf(last));
    rows.push(...next);
    if (next.length < limit) return rows;
  }
};

test("every combination of filters gives the rows of the whole list that match, page by page", async () => {
  const { db } = database;
  const batches = fc.tuple(cuts, cuts, cuts, cuts, cuts);
  await search(
    fc.asyncProperty(
      history,
      batches,
      fc.array(asked, { minLength: 12, maxLength: 12 }),
      async (checkpoints, batchings, questions) => {
        await project(database, checkpoints, batchings);
        for (const question of questions) {
          const { coinType, order, from, to, limit } = question;
          const [owner, holderId] = [question.owner ?? undefined, question.holderId ?? undefined];
          const range = {
            begins: from === null ? undefined : from * CHECKPOINT,
            ends: to === null ? undefined : (to + 1n) * CHECKPOINT,
          };
          const isIn = ({ position }: { readonly position: bigint }) =>
            (from === null || position >= from * CHECKPOINT) &&
            (to === null || position < (to + 1n) * CHECKPOINT);
          const whole = { coinType, limit: LIMIT };
          const register = await holderEvents(db, whole);
          const holderOf = holderIn(register);
          const isOf = (address: string | null, position: bigint): boolean =>
            (owner === undefined || address === owner) &&
            (holderId === undefined ||
              (address !== null && holderOf(address, position) === holderId));
          const everyone = owner === undefined && holderId === undefined;
          const inOrder = <Row>(rows: readonly Row[]) =>
            order === "asc" ? rows : rows.toReversed();

          let wallets: readonly WalletPeriod[] | undefined =
            owner === undefined ? undefined : allOf(owner);
          if (holderId !== undefined) {
            wallets = (await holderPeriods(db, { coinType, holderId, owner })).periods;
          }

          const activity = (await tokenActivity(db, { ...whole, offset: 0, order: "asc" })).filter(
            (row) =>
              isIn(row) &&
              (question.activity?.includes(row.activityType) ?? true) &&
              (everyone ||
                isOf(row.fromAddress, row.position) ||
                isOf(row.toAddress, row.position)),
          );
          const types = question.activity ?? undefined;
          const ofActivity = { ...range, coinType, order, wallets, types };
          expect(
            await paged(
              limit,
              (after?: bigint) => tokenActivity(db, { ...ofActivity, after, limit, offset: 0 }),
              ({ position }) => position,
            ),
          ).toEqual(inOrder(activity));
          const { offset } = question;
          expect(await tokenActivity(db, { ...ofActivity, limit, offset })).toEqual(
            inOrder(activity).slice(offset, offset + limit),
          );

          const changes = (await balanceChanges(db, { ...whole, order: "asc" })).filter(
            (row) =>
              isIn(row) &&
              (question.causes?.includes(row.cause) ?? true) &&
              (everyone || isOf(row.owner, transactionAt(row.position).end - 1n)),
          );
          const ofChanges = {
            ...{ ...range, coinType, order, types: question.causes ?? undefined },
            wallets: wallets?.map(({ address, begins, ends }) => ({
              address,
              begins: transactionAt(begins).from,
              ends: transactionAt(ends).from,
            })),
          };
          expect(
            await paged(
              limit,
              (after?: (typeof changes)[number]) =>
                balanceChanges(db, { ...ofChanges, after, limit }),
              (row) => row,
            ),
          ).toEqual(inOrder(changes));

          const events = register.filter(
            (event) =>
              isIn(event) &&
              (question.register?.includes(event.eventType) ?? true) &&
              (everyone ||
                (event.holderId !== null && holderId !== undefined
                  ? event.holderId === holderId && (owner === undefined || event.address === owner)
                  : isOf(event.address, event.position))),
          );
          const ofRegister = {
            ...{ ...range, coinType, order, wallets, types: question.register ?? undefined },
            ...(holderId !== undefined && {
              holder: { holderId, isOneWallet: owner !== undefined },
            }),
          };
          expect(
            await paged(
              limit,
              (after?: bigint) => holderEvents(db, { ...ofRegister, after, limit }),
              ({ position }) => position,
            ),
          ).toEqual(inOrder(events));

          const packages = [PACKAGE];
          const roles = (await roleEvents(db, { ...whole, packages })).filter(
            (event) => isIn(event) && (owner === undefined || event.owner === owner),
          );
          expect(
            await paged(
              limit,
              (after?: bigint) =>
                roleEvents(db, { ...range, coinType, order, owner, packages, after, limit }),
              ({ position }) => position,
            ),
          ).toEqual(inOrder(roles));

          const places = activity.flatMap(({ fromAddress, toAddress, position }) =>
            [fromAddress, toAddress].flatMap((address) =>
              address === null ? [] : { address, position },
            ),
          );
          const { holders } = await holdersAt(db, coinType, places);
          for (const place of places) {
            expect(holders.get(placeKey(place)) ?? null).toBe(
              holderOf(place.address, place.position),
            );
          }
        }
      },
    ),
    6,
  );
});
