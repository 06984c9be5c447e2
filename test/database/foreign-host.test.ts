// @module-tag alone
/** A host in the list that is of another cluster, such as a copy for tests at a former address. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkHosts } from "../../src/commands/doctor/hosts.ts";
import { connect } from "../../src/database/connect.ts";
import { primaryOf } from "../../src/database/primary.ts";
import { until } from "../lanes/until.ts";
import { type Primary, type Standby, startPrimary } from "../streaming-replica.ts";

let [one, other]: Primary[] = [];
let foreign: Standby;

beforeAll(async () => {
  [one, other] = await Promise.all([startPrimary(), startPrimary()]);
  // As a copy has it.
  for (const each of [one, other]) await each.run("create role service login password 'service'");
  foreign = await other.standby("foreign");
}, 60_000);
afterAll(async () => {
  await Promise.all([one?.[Symbol.asyncDispose](), other?.[Symbol.asyncDispose]()]);
});

const urlOf = (...ports: readonly (number | undefined)[]): string =>
  `postgres://service:service@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/postgres`;

const portAt = async (database: ReturnType<typeof connect>) => {
  const [row] = await database.sql<{ port: number }[]>`select inet_server_port()::int4 as port`;
  return row?.port;
};

test("of two clusters that take writes none is used, as none is known to be right, and doctor names them", async () => {
  const url = urlOf(one?.port, other?.port);
  await using database = connect({ url, max: 1, applicationName: "foreign" });
  await expect(portAt(database)).rejects.toThrow("for another cluster than another host");
  await using alone = connect({ url: urlOf(one?.port), max: 1, applicationName: "foreign" });
  const [found] = await checkHosts(alone, url);
  expect(found).toMatchObject({
    state: "fail",
    says: expect.stringMatching(/^hosts of different clusters: 127.0.0.1:\d+ is of \d+; /),
  });
});

test("a host of another cluster gets no writes, though its timeline is newer, nor when it is alone", async () => {
  const url = urlOf(one?.port, foreign.port);
  await using database = connect({ url, max: 1, applicationName: "foreign" });
  await using session = await database.session();
  const said: string[] = [];
  const unwatch = primaryOf(url)?.watch((message) => said.push(message));
  await foreign.promote();
  await until(
    "the watch",
    () => said,
    ({ length }) => length > 0,
  );
  expect(said).toEqual([
    `the database's host 127.0.0.1:${foreign.port} takes writes for another cluster, and is not used: remove it from the list`,
  ]);
  expect(session.lost.aborted).toBe(false);
  expect(await portAt(database)).toBe(one?.port);
  await one?.kill();
  await expect(portAt(database)).rejects.toThrow();
  await expect(portAt(database)).rejects.toThrow(
    `127.0.0.1:${foreign.port} takes writes, but for another cluster than 127.0.0.1:${one?.port}`,
  );
  unwatch?.();
}, 60_000);
