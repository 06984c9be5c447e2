/** `stateRanges`: the states of a coin, range by range. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { STATE_KINDS } from "../../src/projections/range-lists.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "../audit/demo-register.ts";

let register: DemoRegister;
let served: Awaited<ReturnType<typeof serveGraphql>>;
let coinType: string;
beforeAll(async () => {
  register = await demoRegister();
  await register.advance(80);
  served = await serveGraphql(register.database);
  const told = await query("{ tokens(limit: 1) { coinType } }");
  const tokens = z.object({
    data: z.object({ tokens: z.array(z.object({ coinType: z.string() })) }),
  });
  coinType = tokens.parse(told).data.tokens[0]?.coinType ?? "";
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await register[Symbol.asyncDispose]();
});

const answer = z.object({
  data: z.object({
    stateRanges: z.array(
      z.object({
        line: z.string(),
        checkpoint: z.string(),
        until: z.string().nullable(),
        cursor: z.string(),
      }),
    ),
  }),
});

const query = async (text: string): Promise<unknown> => {
  const response = await fetch(`${served.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": served.key },
    body: JSON.stringify({ query: text }),
  });
  return response.json();
};

const ask = (args: string): Promise<unknown> =>
  query(`{ stateRanges(coinType: "${coinType}", ${args}) { line checkpoint until cursor } }`);

const ranges = async (args: string) => answer.parse(await ask(args)).data.stateRanges;

test.each(STATE_KINDS)("pages of %s contain every state once, in list order", async (kind) => {
  const all = await ranges(`kind: ${kind}, atCheckpoint: "79", limit: 1000`);
  expect(all.length).toBeGreaterThan(0);
  const pages: typeof all = [];
  for (let after = ""; ; ) {
    const page = await ranges(`kind: ${kind}, atCheckpoint: "79", limit: 7${after}`);
    pages.push(...page);
    const last = page.at(-1);
    if (last === undefined) break;
    after = `, after: "${last.cursor}"`;
  }
  expect(pages).toEqual(all);
  expect(new Set(pages.map(({ cursor }) => cursor)).size).toBe(all.length);
});

test("at an earlier checkpoint, states that ended later are listed and later ones are not", async () => {
  for (const kind of STATE_KINDS) {
    const now = await ranges(`kind: ${kind}, atCheckpoint: "79", limit: 1000`);
    const then = await ranges(`kind: ${kind}, atCheckpoint: "45", limit: 1000`);
    const expected = now
      .filter(({ checkpoint }) => Number(checkpoint) <= 45)
      .map(({ cursor: _, until, ...row }) => ({
        ...row,
        until: until !== null && Number(until) > 45 ? null : until,
      }));
    expect(then.map(({ cursor: _, ...row }) => row)).toEqual(expected);
  }
});

test("a cursor of another kind is refused, and so is an unindexed checkpoint", async () => {
  expect(await ask('kind: ROLE, atCheckpoint: "79", after: "0x1"')).toMatchObject({
    errors: [{ extensions: { code: "BAD_USER_INPUT" } }],
  });
  expect(
    await ask('kind: SUPPLY, atCheckpoint: "79", after: "99999999999999999999"'),
  ).toMatchObject({ errors: [{ extensions: { code: "BAD_USER_INPUT" } }] });
  expect(await ask('kind: TOKEN, atCheckpoint: "500"')).toMatchObject({
    errors: [{ extensions: { code: "NOT_YET_INDEXED" } }],
  });
});
