// @module-tag alone
/**
 * `start` under load while its primary is frozen: connections stay open, and nothing is answered. The standby is
 * promoted, all goes on there, and stays when the former primary thaws.
 */
import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { until } from "../lanes/until.ts";
import {
  expectAllCalledBack,
  expectSoonBack,
  expectUndisturbed,
  startDeployment,
} from "./over-two-hosts.ts";

test("with a frozen primary and a promoted standby all goes on within ten seconds, also when the former primary thaws, and nothing is lost", async () => {
  await using deployment = await startDeployment();
  const { one, load, allWorks, service } = deployment;
  await expectSoonBack(deployment, one.freeze);

  await one.thaw();
  await using former = connect({ url: one.url, max: 1, applicationName: "look" });
  await until(
    "no connection of ours to the former primary",
    // A commit that waits for the standby does not notice that its client left.
    async () =>
      await former.sql`
        select application_name, state, wait_event, query from pg_stat_activity
        where application_name like 'holderbook%' and wait_event is distinct from 'SyncRep'`.catch(
        String,
      ),
    ({ length }) => length === 0,
  );
  await allWorks("thawed");
  expect(load.wrong).toEqual([]);
  expect(service.printed.stderr).not.toMatch(/pipeline stopped|the reader stopped|giving up/);
  await expectAllCalledBack(deployment);
  await expectUndisturbed(deployment);
}, 900_000);
