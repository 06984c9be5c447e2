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
  expectUndisturbed,
  PROMISED_MS,
  startDeployment,
} from "./over-two-hosts.ts";

test("with a frozen primary and a promoted standby all goes on within ten seconds, also when the former primary thaws, and nothing is lost", async () => {
  await using deployment = await startDeployment();
  const { one, two, marks, load, allWorks, service } = deployment;
  const calmMs = await allWorks("before");
  const mayLose = marks.mayCrash();
  const beganMs = performance.now();
  await one.freeze();
  await two.promote();
  const promotedMs = performance.now() - beganMs;
  await allWorks("after");
  const tookMs = performance.now() - beganMs;
  mayLose();
  console.info(
    `works ${Math.round(tookMs)} ms after the freeze, promoted after ${Math.round(promotedMs)} ms; the same takes ${Math.round(calmMs)} ms undisturbed`,
  );
  // Both scale with the machine; the rest is the loss.
  expect(tookMs - calmMs - promotedMs).toBeLessThan(PROMISED_MS);
  expect(service.printed.stderr).toContain(
    `127.0.0.1:${two.port} takes writes now, in place of 127.0.0.1:${one.port}`,
  );

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
