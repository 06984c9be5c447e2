/** The demo ledger that the released database was read from, as a folder of checkpoints that grows when told to. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { demoSource } from "../../demo/source.ts";
import { CHK_BCS } from "../../src/ledger/sources/chk-file.ts";

export type LedgerFolder = AsyncDisposable & {
  readonly packages: readonly string[];
  /** Writes the next checkpoints; returns the number of the last one. */
  write(checkpoints: number): Promise<bigint>;
};

/** @param dataDir with the ledger's own files, see `make.ts` */
export const ledgerFolder = async (
  dataDir: string,
  dir: string,
  investors: number,
): Promise<LedgerFolder> => {
  const source = demoSource({
    ...{ dataDir, seed: "released", history: 45, investors },
    checkpointsPerSecond: 1_000,
    encoding: "bcs",
  });
  await mkdir(dir);
  const stop = new AbortController();
  const made = source.checkpoints({ first: 0n }, stop.signal)[Symbol.asyncIterator]();
  const { packages, coinTypes } = source;
  const chainId = await source.chainId(stop.signal);
  let last = -1n;
  const described = { chainId, packages, coinTypes, firstCheckpoint: 0 };
  await writeFile(join(dir, "ledger.json"), JSON.stringify(described));
  return {
    packages,
    write: async (checkpoints) => {
      for (let n = 0; n < checkpoints; n += 1) {
        const { done, value } = await made.next();
        if (done) throw new Error(`the ledger ended after ${last}`);
        const whole = join(dir, `${value.sequence}.chk`);
        await writeFile(`${whole}.part`, Buffer.concat([Uint8Array.of(CHK_BCS), value.bytes]));
        await rename(`${whole}.part`, whole);
        last = value.sequence;
      }
      return last;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await made.return?.();
      await source.close();
    },
  };
};
