// @module-tag thorough
/** `compare` with lists that are longer than what it reads of them by itself. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import { alterRows } from "../projections/damage.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "./demo-register.ts";

let here: DemoRegister;
let there: DemoRegister;
let other: Awaited<ReturnType<typeof serveGraphql>>;
let coinType: string;

/** Rows in checkpoint 50, one a transaction, beyond those that the ledger gave. */
const MANY = 9_000;
const position = (number: number) => (5_000_000n + 50_000n + BigInt(number)) * 10_000n;

beforeAll(async () => {
  here = await demoRegister();
  await here.advance(120);
  const [token] = await here.database.sql<{ coin_type: string }[]>`
    select coin_type from tokens where first_checkpoint < 40 order by coin_type limit 1`;
  coinType = token?.coin_type ?? "";
  await alterRows(
    here.database,
    `insert into token_activity (coin_type, position, tx_digest, timestamp_ms, activity_type, amount,
                                   from_address, to_address, signer, token_object_id)
       select coin_type, (5000000 + 50000 + n) * 10000::int8, tx_digest, timestamp_ms, activity_type,
              amount, from_address, to_address, signer, token_object_id
       from (select * from token_activity where coin_type = '${coinType}' order by position limit 1) as first,
            generate_series(0, ${MANY - 1}) as n`,
  );
  there = await here.copy();
  other = await serveGraphql(there.database);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await Promise.all([here, there].map((each) => each[Symbol.asyncDispose]()));
});

const compare = (...args: readonly string[]) =>
  runCommand(["compare", other.url, "--pipeline", "token_activity", ...args], {
    DATABASE_URL: here.database.url,
    HOLDERBOOK_COMPARE_KEY: other.key,
  });

/** Works while the signer of one row is another one over there. */
const altered = async <T>(at: bigint, work: () => Promise<T>): Promise<T> => {
  const signer = (text: string) =>
    alterRows(
      there.database,
      `update token_activity set signer = ${text} where coin_type = '${coinType}' and position = ${at}`,
    );
  await signer("'x' || signer");
  try {
    return await work();
  } finally {
    await signer("substr(signer, 2)");
  }
};

test("of a long list a part is compared, and the verdict says so", async () => {
  const { code, stdout } = await compare();
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^identical through checkpoint 119 in what was compared; some lists were compared in part, see below\n/,
  );
  expect(stdout).toMatch(/\n {2}tokenActivity: \d+ in \d+ lists, 1 of them in part\n/);
});

test("that part always includes the beginning and the newest rows", async () => {
  const [newest] = await there.database.sql<{ position: bigint }[]>`
    select position from token_activity where coin_type = ${coinType} order by position desc limit 1`;
  for (const at of [position(10), newest?.position ?? 0n]) {
    const { code, stdout } = await altered(at, () => compare());
    expect(code).toBe(1);
    expect(stdout).toContain(`tokenActivity of ${coinType}, position ${at}: here signer `);
  }
});

test("rows after the first checkpoint with different stored digests are compared too", async () => {
  // Behind the first five pages by its position, and before the newest.
  const [late] = await there.database.sql<{ position: bigint; checkpoint: bigint }[]>`
    select position, position / 1000000000 as checkpoint from token_activity
    where coin_type = ${coinType} and position > 51 * 1000000000::int8 order by position limit 1`;
  const digest = (how: string) =>
    alterRows(
      there.database,
      `update token_activity_digests set digest = ${how} where checkpoint >= ${late?.checkpoint}`,
    );
  await alterRows(there.database, "create table kept as table token_activity_digests");
  await digest("sha256(digest)");
  const { code, stdout } = await altered(late?.position ?? 0n, () => compare());
  expect(code).toBe(1);
  expect(stdout).toContain(`digest of token_activity, from checkpoint ${late?.checkpoint} on`);
  expect(stdout).toContain(`position ${late?.position}: here signer`);
  await digest(
    "(select k.digest from kept k where k.checkpoint = token_activity_digests.checkpoint)",
  );
});

test("with --full, every row is compared, wherever it is in the list", async () => {
  const at = position(MANY - 1_500);
  const { code, stdout } = await altered(at, () => compare("--full"));
  expect(code).toBe(1);
  expect(stdout).toContain(`position ${at}: here signer `);
  const same = await compare("--full");
  expect(same.code).toBe(0);
  expect(same.stdout).toMatch(/^identical through checkpoint 119\n/);
});
