/** The sums that are watched on and on. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { readWatchResults } from "../../src/audit/watch/results.ts";
import { sumsCheck } from "../../src/audit/watch/sums-check.ts";
import type { SlowCheck } from "../../src/audit/watch/watch.ts";
import { integrityDetails } from "../../src/service/health/integrity-health.ts";
import { freshDatabase } from "../postgres.ts";
import { alterRows } from "../projections/damage.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";

let register: DemoRegister;
beforeAll(async () => {
  register = await demoRegister();
  await register.advance(120);
});
afterAll(() => register[Symbol.asyncDispose]());

/** One whole round; what it found. */
const round = async (check: SlowCheck, { database }: DemoRegister = register) => {
  while (!(await check.next(database)).ended);
  const { sums } = await readWatchResults(database);
  return sums;
};

test("a round over a register that nobody touched finds nothing, and says through which checkpoint", async () => {
  expect(await round(sumsCheck())).toMatchObject({ checkedThrough: "119", findings: [] });
  await using empty = await freshDatabase();
  expect(await sumsCheck().next(empty)).toEqual({ ended: true });
});

test.each<[string, string, string, RegExp]>([
  [
    "a raised balance",
    "update balances set token_balance = token_balance + 7 where (coin_type, owner) = (select coin_type, owner from balances where token_count > 0 order by 1, 2 limit 1)",
    "update balances set token_balance = token_balance - 7 where (coin_type, owner) = (select coin_type, owner from balances where token_count > 0 order by 1, 2 limit 1)",
    /^balances, 0x\S+, owner 0x\w+: token_balance is \d+, but the objects in shared_token_objects hold/,
  ],
  [
    "another supply",
    "update token_supplies set supply = supply + 7 where checkpoint = (select max(checkpoint) from token_supplies)",
    "update token_supplies set supply = supply - 7 where checkpoint = (select max(checkpoint) from token_supplies)",
    /^token_supplies, 0x\S+: the treasury's supply is \d+, but balances hold \d+$/,
  ],
  [
    "a moved watermark",
    "update token_activity_watermark set next_checkpoint = 90",
    "update token_activity_watermark set next_checkpoint = 120",
    /^token_activity_watermark: next_checkpoint is 90/,
  ],
])("%s shows in the health report until it is put right", async (_what, damage, repair, line) => {
  const { database } = register;
  const check = sumsCheck();
  const health = async () => (await integrityDetails(database)()).state;
  await alterRows(database, damage);
  const { findings } = await round(check);
  expect(findings).toEqual(expect.arrayContaining([expect.stringMatching(line)]));
  expect(await health()).toBe("stalled");

  await alterRows(database, repair);
  // It stands until a whole round has found nothing.
  await check.next(database);
  expect(await health()).toBe("stalled");
  expect(await round(check)).toMatchObject({ findings: [] });
  expect(await health()).toBe("ok");
});

test("nothing is found while pipelines move and trail one another", async () => {
  await using moving = await demoRegister({ seed: 11 });
  await moving.advance(40);
  const check = sumsCheck();
  let isOver = false;
  const advancing = (async () => {
    for (let step = 0; step < 10; step += 1) await moving.advance(10, 25);
    isOver = true;
  })();
  while (!isOver) expect(await round(check, moving)).toMatchObject({ findings: [] });
  await advancing;
  expect((await round(check, moving)).checkedThrough).toBe("139");
});

test("owners beyond one page are checked too", async () => {
  const { database } = register;
  const [coinType = ""] = register.model.coins.keys();
  await alterRows(
    database,
    `insert into shared_token_objects (object_id, coin_type, owner, balance, version, checkpoint)
     select 'made ' || n, '${coinType}', 'made ' || lpad(n::text, 5, '0'), 0, 1, 1 from generate_series(1, 4500) n;
     insert into balances (coin_type, owner, token_balance, token_count)
     select '${coinType}', 'made ' || lpad(n::text, 5, '0'), case n when 4400 then 3 else 0 end, 1
     from generate_series(1, 4500) n`,
  );
  const { findings } = await round(sumsCheck());
  expect(findings).toEqual([
    expect.stringContaining("the treasury's supply is"),
    expect.stringContaining("owner made 04400: token_balance is 3, but the objects"),
  ]);
});
