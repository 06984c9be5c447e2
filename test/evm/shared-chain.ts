/** One chain for all tests of a file: starting one and deploying on it takes longer than most tests. */
import { afterAll, afterEach, beforeAll } from "vitest";
import { type Anvil, type AnvilSettings, startAnvil } from "./anvil.ts";

/**
 * Starts a chain before the first test of the file that calls this, and stops it after the last. Every test
 * finds the chain as `prepare` left it. No test may replace the blocks of `prepare`.
 */
export const shareChain = (
  settings: AnvilSettings,
  prepare: (chain: Anvil) => Promise<void>,
): void => {
  let chain: Anvil | undefined;
  let snapshot: unknown;
  beforeAll(async () => {
    chain = await startAnvil(settings);
    await prepare(chain);
    snapshot = await chain.request("evm_snapshot");
  });
  afterEach(async () => {
    const reverted = await chain?.request("evm_revert", [snapshot]);
    if (reverted !== true) throw new Error("the chain could not be taken back");
    // One that was gone back to is used up.
    snapshot = await chain?.request("evm_snapshot");
  });
  afterAll(() => chain?.stop());
};
