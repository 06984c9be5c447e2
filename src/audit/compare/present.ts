/**
 * Compares another deployment's current state, which has its own tables, with the history at the
 * answer's checkpoint.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { askedOf, type List, type PresentList, pastOf } from "./lists.ts";
import {
  type Answered,
  NotAnsweredError,
  type Register,
  type Variables,
} from "./other-deployment.ts";
import type { Compared } from "./progress.ts";
import { type ComparedPage, compareAnswers, compareRows } from "./rows.ts";
import { PAGE, type Row, rowsIn, textIn } from "./served-rows.ts";

const status = z
  .array(z.object({ pipeline: z.string().max(64), checkpoint: z.string().regex(/^\d{1,18}$/) }))
  .min(1)
  .max(50);

const STATUS = "indexerStatus { pipeline checkpoint }";

/** Its pipelines are at the same checkpoint most of the time. */
const ATTEMPTS = 10;
const PAUSE_MS = 700;

/** Its current state, and the common checkpoint of the pipelines that write it. */
const presentOf = async (
  { there, signal, progress }: Compared,
  pipelines: readonly string[],
  query: string,
  variables: Variables,
): Promise<{ readonly data: Answered; readonly at: bigint }> => {
  for (let attempt = 1; ; attempt += 1) {
    const data = await there.ask(query, variables);
    const read = status.safeParse(data.indexerStatus);
    const writing = (read.data ?? []).filter(({ pipeline }) => pipelines.includes(pipeline));
    if (writing.length !== pipelines.length)
      throw new NotAnsweredError("it does not name the checkpoint of its current rows");
    const [at, ...others] = new Set(writing.map(({ checkpoint }) => checkpoint));
    if (at !== undefined && others.length === 0) {
      if (BigInt(at) >= progress.through) return { data, at: BigInt(at) };
      throw new NotAnsweredError(
        `its current rows are of checkpoint ${at}, before ${progress.through}`,
      );
    }
    if (attempt === ATTEMPTS) {
      throw new NotAnsweredError("its pipelines were at different checkpoints at every attempt");
    }
    await sleep(PAUSE_MS, undefined, { signal });
  }
};

/** Tally of current rows compared with the other's own history: both could be made up. */
export const OWN_PAST = "current rows compared with its own past alone";

/** The history to compare with: this deployment's, or the other's own if this one is behind. */
const witness = async ({ here, there, reaches, progress }: Compared, name: string, at: bigint) => {
  if (await reaches(at)) return { register: here, what: name, count: () => {} };
  return {
    register: there,
    what: `${name} (there against its own past, checkpoint ${at})`,
    count: (rows: number) => progress.count(OWN_PAST, { rows }),
  };
};

/** Compares a page of a list of current state. */
export const comparePresent = async (
  compared: Compared,
  list: PresentList,
  coinType: string,
  after: string | undefined,
): Promise<ComparedPage> => {
  const { field, selection } = list;
  const { variables, given } = askedOf(list);
  const now = `query (${variables}) { ${STATUS} ${field}(${given}) { ${selection} } }`;
  const values = { coinType, limit: PAGE, ...(after !== undefined && { after }) };
  const { data, at } = await presentOf(compared, list.pipelines, now, values);
  const { register, what, count } = await witness(compared, `${list.name} now`, at);
  const past = await register.ask(pastOf(list).query, { ...values, at: `${at}` });
  const page = compareAnswers(what, coinType, list, rowsIn(past, field), rowsIn(data, field));
  count(page.rows);
  return page;
};

/** Owners per query: two fields each, and a query may have 30. */
export const OWNERS_PER_QUERY = 12;

const OWNERS = Array.from({ length: OWNERS_PER_QUERY }, (_, index) => index);

/** Pipelines that write balances and objects of owners. */
const OF_OWNERS = ["shared_token_objects", "timelock_objects"];

/** Objects compared per owner; the list of all objects covers the rest. */
const OBJECTS = 100;

const ofOwners = (at: string) =>
  OWNERS.map(
    (index) => `
      b${index}: tokenBalance(coinType: $coinType, owner: $o${index}${at}) {
        owner balance timelockBalance objectCount timelockCount timelocksIncluded decimals }
      t${index}: tokenObjects(coinType: $coinType, owner: $o${index}, limit: ${OBJECTS}${at}) {
        objectId owner balance version checkpoint }`,
  ).join("");

const OWNER_VARIABLES = `$coinType: String!, ${OWNERS.map((index) => `$o${index}: String!`).join(", ")}`;
const OWNERS_NOW = `query (${OWNER_VARIABLES}) { ${STATUS} ${ofOwners("")} }`;
const OWNERS_THEN = `query (${OWNER_VARIABLES}, $at: String!) { ${ofOwners(", atCheckpoint: $at")} }`;

const objects: Pick<List, "key"> = {
  key: (row) => `owner ${textIn(row, "owner")}, objectId ${textIn(row, "objectId")}`,
};
const balances: Pick<List, "key"> = { key: (row) => `owner ${textIn(row, "owner")}` };

/**
 * Compares the balances and objects of these owners, now and at the last checkpoint compared.
 * @param owners as many as `OWNERS_PER_QUERY` at most
 */
export const compareOwners = async (
  both: Compared,
  coinType: string,
  owners: readonly string[],
): Promise<Pick<ComparedPage, "rows" | "differences">> => {
  const last = owners.at(-1);
  if (last === undefined) return { rows: 0, differences: [] };
  const named = OWNERS.map((index) => [`o${index}`, owners[index] ?? last] as const);
  const given = { coinType, ...Object.fromEntries(named) };
  const then = async (register: Register, at: bigint) =>
    register.ask(OWNERS_THEN, { ...given, at: `${at}` });
  const { through } = both.progress;
  const { data, at } = await presentOf(both, OF_OWNERS, OWNERS_NOW, given);
  const { register, what, count } = await witness(both, "", at);
  const [past, own, other] = await Promise.all([
    then(register, at),
    then(both.here, through),
    then(both.there, through),
  ]);
  const compared = (when: string, one: Answered, beside: Answered) =>
    [
      compareRows(
        { what: `tokenBalance${when}`, coinType },
        partsOf(one, "b", owners),
        partsOf(beside, "b", owners),
        balances,
      ),
      compareRows(
        { what: `tokenObjects${when}`, coinType },
        partsOf(one, "t", owners),
        partsOf(beside, "t", owners),
        objects,
      ),
    ] as const;
  const now = compared(` now${what}`, past, data);
  for (const { rows } of now) count(rows);
  const found = [...now, ...compared("", own, other)];
  return {
    rows: found.reduce((sum, { rows }) => sum + rows, 0),
    differences: found.flatMap(({ differences }) => differences),
  };
};

const partsOf = (from: Answered, part: "b" | "t", owners: readonly string[]): readonly Row[] =>
  owners.flatMap((_, index) => {
    const name = `${part}${index}`;
    return part === "t" ? rowsIn(from, name) : rowsIn({ [name]: [from[name]] }, name);
  });
