/** Statements of a register whose database is tampered with. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { rootOf } from "../../client/sum-tree.ts";
import { verifyStatement } from "../../client/verify-statement.ts";
import { type DeploymentKey, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { RootConflictError } from "../../src/audit/sequence/published-roots.ts";
import { tableAt } from "../../src/commands/cap-table-at.ts";
import { makeStatement, type StatementOptions } from "../../src/evidence/statement/statement.ts";
import { createAsking } from "../../src/projections/asking.ts";
import { createCapTables } from "../../src/projections/cap-tables.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "../audit/demo-register.ts";
import { alterRows } from "../projections/damage.ts";

let register: DemoRegister;
let key: DeploymentKey;
let coinType = "";
beforeAll(async () => {
  register = await demoRegister();
  await register.advance(150);
  key = await openDeploymentKey(register.database, randomBytes(32));
  [coinType = ""] = register.model.coins.keys();
});
afterAll(() => register[Symbol.asyncDispose]());

/** The statement of the largest holder. */
const made = async (checkpoint: bigint, options?: StatementOptions) => {
  const { database } = register;
  const asOf = { kind: "checkpoint", checkpoint } as const;
  const { table, db } = await tableAt(database.db, coinType, asOf, createAsking(database));
  const { sequence, timestampMs } = table.mark;
  const at = { checkpoint: sequence, timestampMs };
  const [row] = await createCapTables().rows(db, { coinType, at, limit: 1 });
  const whose = { owner: row?.wallets[0]?.address ?? "" };
  return verifyStatement(await makeStatement({ db, write: database }, key, table, whose, options));
};

test("a group changed behind the register's back contradicts the root of version 2, but not that of version 1", async () => {
  const two = await made(140n);
  const one = await made(140n, { version: 1 });
  const alter = (set: string) =>
    alterRows(
      register.database,
      `update membership_ranges set ${set} where coin_type = '${coinType}' and aspect = 'group'`,
    );
  await alter("value = value + 1");
  await expect(made(140n)).rejects.toThrow(RootConflictError);
  expect((await made(140n, { version: 1 })).root).toBe(one.root);
  await alter("value = value - 1");
  expect(await made(140n)).toEqual(two);
});

test("decimals learnt later do not change a root published without them", async () => {
  const { database } = register;
  const decimals = (value: string) =>
    alterRows(database, `update log_coins set decimals = ${value} where coin_type = '${coinType}'`);
  const known = (await made(139n)).decimals;
  expect(known).not.toBeNull();
  await decimals("null");
  const before = await made(138n);
  expect(before.decimals).toBeNull();
  await decimals(`${known}`);
  expect(await made(138n)).toEqual(before);
  expect((await made(137n)).decimals).toBe(known);
});

test("the rows of a cap table over GraphQL lead to its two roots, and to those of statements", async () => {
  await using service = await serveGraphql(register.database);
  const query = `query ($coinType: String!) {
    capTable(coinType: $coinType, atCheckpoint: "136", limit: 1000) {
      coinType checkpoint decimals root one: root(version: 1) two: root(version: 2)
      rows { holderId balance tokens granted unlocked locked
        wallets { address balance groupId isFrozen } }
    }
  }`;
  const ask = async (text: string) => {
    const answer = await fetch(`${service.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": service.key },
      body: JSON.stringify({ query: text, variables: { coinType } }),
    });
    return answer.json();
  };
  const { data } = capTableAnswer.parse(await ask(query));
  const { root, one, two, ...table } = data.capTable;
  expect(one).toBe(root);
  expect((await rootOf(table)).root).toBe(one);
  expect((await rootOf({ ...table, version: 2 })).root).toBe(two);
  expect((await made(136n)).root).toBe(two);
  expect((await made(136n, { version: 1 })).root).toBe(one);
  expect(await ask(query.replace("version: 2", "version: 3"))).toMatchObject({
    errors: [{ extensions: { code: "BAD_USER_INPUT" } }],
  });
});

const amounts = { balance: z.string(), tokens: z.string(), granted: z.string() };
const capTableAnswer = z.object({
  data: z.object({
    capTable: z.object({
      coinType: z.string(),
      checkpoint: z.string(),
      decimals: z.number().nullable(),
      root: z.string(),
      one: z.string(),
      two: z.string(),
      rows: z.array(
        z.object({
          holderId: z.string().nullable(),
          ...amounts,
          unlocked: z.string(),
          locked: z.string(),
          wallets: z.array(
            z.object({
              address: z.string(),
              balance: z.string(),
              groupId: z.string().nullable(),
              isFrozen: z.boolean(),
            }),
          ),
        }),
      ),
    }),
  }),
});
