/** Pages of the states of a coin: read by an index, however many states there are. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { STATE_KINDS, stateRanges } from "../../src/projections/range-lists.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { plannedNodes } from "./query-plan.ts";

const MANY = 20_000;
const LIMIT = 50;
const coinType = "0x5::acme::ACME";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  const rows = (columns: string, values: string) => `
    (coin_type, ${columns}) select coin, ${values}
    from generate_series(1, ${MANY}) as n, unnest(array['${coinType}', '0x6::other::OTHER']) as coin`;
  const id = "'0x' || md5(coin || n) || md5(n || coin)";
  const grant = `funder, release_schedule_id, release_count, delay_until_first_release_ms,
    period_between_releases_ms, initial_release_portion_bps, commencement_timestamp_ms, total_amount,
    tokens_transferred, left_balance, version, checkpoint`;
  const granted = "'0x1', 1, 1, 1, 1, 1, n / 10, 1, 1, 1, n, n";
  await database.sql.unsafe(`
    insert into shared_token_objects ${rows("object_id, owner, balance, version, checkpoint", `${id}, md5(n::text), 1, n, n`)};
    insert into shared_token_ranges ${rows("object_id, owner, balance, version, checkpoint, until", `${id}, md5(n::text), 1, n, n - 1, n`)};
    insert into timelock_objects ${rows(`object_id, owner, ${grant}`, `${id}, md5(n::text), ${granted}`)};
    insert into timelock_ranges ${rows(`object_id, owner, ${grant}, until`, `${id}, md5(n::text), ${granted.replace(/n$/, "n - 1")}, n`)};
    insert into membership_ranges ${rows("address, aspect, value, checkpoint, until", `${id}, 'group', 1, n, n + 1`)};
    insert into role_ranges ${rows("owner, role, checkpoint, until", `${id}, 'admin', n, n + 1`)};
    insert into token_supplies ${rows("checkpoint, supply", "n, n")};
    analyze`);
});
afterAll(() => database.close());

test.each(STATE_KINDS)(
  "a page of %s reads little more than its rows, wherever it begins",
  async (kind) => {
    const query = { kind, coinType, at: BigInt(MANY), limit: LIMIT };
    const far = await stateRanges(database, { ...query, limit: MANY / 2 });
    const after = far.at(-1)?.place;
    for (const page of [query, { ...query, after }]) {
      const nodes = await plannedNodes(database, (on) => stateRanges(on, page));
      const read = nodes
        .filter(({ relation }) => relation !== undefined)
        .reduce((sum, { rows, filtered }) => sum + rows + filtered, 0);
      expect(read).toBeGreaterThan(0);
      // Both tables of objects are read a page far, and rows of the last owner again.
      expect(read, JSON.stringify(nodes)).toBeLessThanOrEqual(LIMIT * 2 + 20);
    }
  },
);
