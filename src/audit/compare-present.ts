/**
 * What another deployment serves of the present: lists and balances that have tables of their own, held
 * against what the past says of the checkpoint that the answer is of.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { type ComparedPage, compareAnswers, compareRows } from "./compare-rows.ts";
import { type List, PAGE, type PresentList, type Row, rowsIn, textIn } from "./compared-lists.ts";
import {
  type Answered,
  NotAnsweredError,
  type Register,
  type Variables,
} from "./other-deployment.ts";

/** Both deployments, and how far this one is. */
export type Both = {
  readonly here: Register;
  readonly there: Register;
  /** The last checkpoint that this deployment has. */
  readonly last: bigint;
  readonly signal: AbortSignal;
};

const standing = z
  .array(z.object({ checkpoint: z.string().regex(/^\d{1,18}$/) }))
  .min(1)
  .max(50);

const STATUS = "indexerStatus { pipeline checkpoint }";

/** Its pipelines stand at one checkpoint most of the time. */
const ATTEMPTS = 10;
const PAUSE_MS = 700;

/** What it serves now, and the checkpoint of which all of that is. */
const presentOf = async (
  { there, signal }: Both,
  query: string,
  variables: Variables,
): Promise<{ readonly data: Answered; readonly at: bigint }> => {
  for (let attempt = 1; ; attempt += 1) {
    const data = await there.ask(query, variables);
    const read = standing.safeParse(data.indexerStatus);
    if (!read.success)
      throw new NotAnsweredError("it does not say of which checkpoint its present is");
    const [at, ...others] = new Set(read.data.map(({ checkpoint }) => checkpoint));
    if (at !== undefined && others.length === 0) return { data, at: BigInt(at) };
    if (attempt === ATTEMPTS) {
      throw new NotAnsweredError(
        "its pipelines were at different checkpoints whenever it was asked",
      );
    }
    await sleep(PAUSE_MS, undefined, { signal });
  }
};

/** Who knows how it was at a checkpoint: this deployment, or else the other one's own past. */
const witness = ({ here, there, last }: Both, name: string, at: bigint) =>
  at <= last
    ? { register: here, what: name }
    : { register: there, what: `${name} (there against its own past, checkpoint ${at})` };

const VARIABLES = "$coinType: String!, $after: String, $limit: Int";
const ARGUMENTS = "coinType: $coinType";

/** A page of a list as it is served now. */
export const comparePresent = async (
  both: Both,
  list: PresentList,
  coinType: string,
  after: string | undefined,
): Promise<ComparedPage> => {
  const { field, selection, isWhole } = list;
  const [variables, paging] = isWhole
    ? ["$coinType: String!", ""]
    : [VARIABLES, ", after: $after, limit: $limit"];
  const now = `query (${variables}) { ${STATUS} ${field}(${ARGUMENTS}${paging}) { ${selection} } }`;
  const then = `query (${variables}, $at: String!) {
    ${field}(${ARGUMENTS}${paging}, atCheckpoint: $at) { ${selection} } }`;
  const given = { coinType, limit: PAGE, ...(after !== undefined && { after }) };
  const { data, at } = await presentOf(both, now, given);
  const { register, what } = witness(both, `${list.name} now`, at);
  const past = await register.ask(then, { ...given, at: `${at}` });
  return compareAnswers(what, coinType, list, rowsIn(past, field), rowsIn(data, field));
};

/** Owners of one question: two fields each, and there may be 30 of them. */
export const OWNERS_AT_ONCE = 12;

const OWNERS = Array.from({ length: OWNERS_AT_ONCE }, (_, index) => index);

/** Objects of one owner that are looked at; the list of all objects has the others. */
const OBJECTS = 100;

const ofOwners = (at: string) =>
  OWNERS.map(
    (index) => `
      b${index}: tokenBalance(coinType: $coinType, owner: $o${index}${at}) {
        owner balance timelockBalance objectCount timelockCount timelocksIncluded }
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

/** What these owners hold now: balances and objects. @param owners as many as `OWNERS_AT_ONCE` at most */
export const compareOwners = async (
  both: Both,
  coinType: string,
  owners: readonly string[],
): Promise<Pick<ComparedPage, "rows" | "differences">> => {
  const last = owners.at(-1);
  if (last === undefined) return { rows: 0, differences: [] };
  const named = OWNERS.map((index) => [`o${index}`, owners[index] ?? last] as const);
  const given = { coinType, ...Object.fromEntries(named) };
  const { data, at } = await presentOf(both, OWNERS_NOW, given);
  const { register, what } = witness(both, "", at);
  const past = await register.ask(OWNERS_THEN, { ...given, at: `${at}` });
  const parts = (from: Answered, part: "b" | "t"): readonly Row[] =>
    owners.flatMap((_, index) => {
      const name = `${part}${index}`;
      return part === "t" ? rowsIn(from, name) : rowsIn({ [name]: [from[name]] }, name);
    });
  const [held, inObjects] = [
    compareRows(
      { what: `tokenBalance now${what}`, coinType },
      parts(past, "b"),
      parts(data, "b"),
      balances,
    ),
    compareRows(
      { what: `tokenObjects now${what}`, coinType },
      parts(past, "t"),
      parts(data, "t"),
      objects,
    ),
  ];
  return {
    rows: held.rows + inObjects.rows,
    differences: [...held.differences, ...inObjects.differences],
  };
};
