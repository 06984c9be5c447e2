import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { startPrimary } from "../streaming-replica.ts";

test("a standby follows its primary, pauses, comes back after a stop, and takes writes once promoted", async () => {
  await using primary = await startPrimary();
  await primary.run("create table shown (n int)");
  const standby = await primary.standby("one");
  await using there = connect({ url: standby.url, max: 1, applicationName: "test" });
  const rows = async () => (await there.sql`select n from shown order by n`).map(({ n }) => n);
  const add = (n: number) => primary.run(`insert into shown values (${n})`);

  await add(1);
  await standby.caughtUp();
  expect(await rows()).toEqual([1]);

  await standby.pauseReplay();
  await add(2);
  expect(await rows()).toEqual([1]);
  await standby.resumeReplay();
  await standby.caughtUp();
  expect(await rows()).toEqual([1, 2]);

  await standby.stop();
  await add(3);
  await standby.start();
  await standby.caughtUp();

  await primary.kill();
  await standby.promote();
  await standby.run("insert into shown values (4)");
  expect(await rows()).toEqual([1, 2, 3, 4]);
}, 60_000);
