// @module-tag alone
/**
 * `start` under load on a primary and a standby that confirms its commits: the primary is killed, the standby promoted,
 * and all goes on there. In the order of the tests.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Deployment,
  expectAllCalledBack,
  expectSoonBack,
  expectUndisturbed,
  startDeployment,
} from "./over-two-hosts.ts";

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
}, 300_000);
afterAll(() => deployment?.[Symbol.asyncDispose](), 120_000);

test("a killed primary and a promoted standby stop readers, register and requests for ten seconds at most", async () => {
  const { one, service } = deployment;
  await expectSoonBack(deployment, one.kill);
  expect(service.printed.stderr).not.toMatch(/pipeline stopped|the reader stopped|giving up/);
}, 400_000);

test("every acknowledged request was processed once, and every result called back", async () => {
  await expectAllCalledBack(deployment);
}, 400_000);

test("no mark of the log went back, and log, rows, digests and answers equal those of an undisturbed run", async () => {
  await expectUndisturbed(deployment);
}, 400_000);
