/** `demo write`: a demo ledger as files, as in object stores and archives. */
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import { CHK_BCS } from "../src/ledger/sources/chk-file.ts";
import type { Remedy } from "../src/waiting/remedy.ts";
import { createDemoLedger, type DemoCheckpoint, type DemoIdentity } from "./demo-ledger.ts";

export { DEFAULT_INVESTORS, DEFAULT_NOISE } from "./edition.ts";
export { FIRST_INVESTORS } from "./issuer/people.ts";

const compress = promisify(zstdCompress);

/** `chk`: an encoding byte and BCS. `binpb`: compressed protobuf. */
type DemoFormat = "chk" | "binpb";

type WriteDemoOptions = {
  /** Created if missing. */
  readonly dir: string;
  /** Number of checkpoints, from 0; 1 or more. */
  readonly checkpoints: number;
  readonly seed: bigint | number | string;
  readonly format: DemoFormat;
  readonly investors?: number | undefined;
  readonly noise?: number | undefined;
  readonly actionsPerCheckpoint?: number | undefined;
  readonly epochLength?: number | undefined;
  readonly commitsFrom?: bigint | undefined;
  /** Called with the number written, now and then. */
  readonly onProgress?: ((written: number) => void) | undefined;
};

/** Content of `ledger.json`. */
type LedgerFile = Omit<DemoIdentity, "committee"> & {
  /** Validators of epoch 0: compressed public keys in base64, stakes of 10,000 in all. */
  readonly committee: {
    readonly epoch: number;
    readonly members: readonly { readonly publicKey: string; readonly stake: string }[];
  };
  readonly firstCheckpoint: number;
  readonly checkpoints: number;
  readonly seed: string;
};

/** The folder is not empty. Stop; use another, or empty it. */
export class FolderTakenError extends Error {
  override readonly name = "FolderTakenError";
  readonly remedy: Remedy = "stop";

  constructor(dir: string, found: string) {
    super(`${dir} is not empty (it holds ${found}); choose a new folder or empty it`);
  }
}

const MAX_CONCURRENT_WRITES = 16;
const REPORT_EVERY = 100;

/**
 * Writes checkpoints as `N.chk` or `N.binpb.zst`, then `ledger.json`. Files are renamed when
 * complete. The same seed and options give the same bytes.
 * @throws FolderTakenError, DemoOptionError
 */
export const writeDemoLedger = async (options: WriteDemoOptions): Promise<LedgerFile> => {
  const { dir, checkpoints, format } = options;
  const ledger = createDemoLedger({ ...options, keepEvents: false });
  await mkdir(dir, { recursive: true });
  const [found] = await readdir(dir);
  if (found !== undefined) throw new FolderTakenError(dir, found);

  const writing = new Set<Promise<void>>();
  for (let written = 0; written < checkpoints; written += 1) {
    const file = writeCheckpoint(dir, format, ledger.next());
    const done = file.finally(() => writing.delete(done));
    // Failures surface in the race below or at the end.
    done.catch(() => undefined);
    writing.add(done);
    if (writing.size >= MAX_CONCURRENT_WRITES) await Promise.race(writing);
    if (written % REPORT_EVERY === 0) options.onProgress?.(written);
  }
  await Promise.all(writing);
  options.onProgress?.(checkpoints);

  const { chainId, packages, foreignPackages, coinTypes, committee } = ledger;
  const description: LedgerFile = {
    chainId,
    packages,
    foreignPackages,
    coinTypes,
    committee: {
      epoch: Number(committee.epoch),
      members: committee.members.map(({ publicKey, stake }) => ({
        publicKey: Buffer.from(publicKey).toString("base64"),
        stake: String(stake),
      })),
    },
    firstCheckpoint: 0,
    checkpoints,
    seed: String(options.seed),
  };
  await writeWhole(dir, "ledger.json", Buffer.from(`${JSON.stringify(description, null, 2)}\n`));
  return description;
};

const writeCheckpoint = async (
  dir: string,
  format: DemoFormat,
  checkpoint: DemoCheckpoint,
): Promise<void> => {
  if (format === "chk") {
    const bytes = Buffer.concat([Uint8Array.of(CHK_BCS), checkpoint.raw("bcs")]);
    await writeWhole(dir, `${checkpoint.sequence}.chk`, bytes);
  } else {
    const bytes = await compress(checkpoint.raw("protobuf"));
    await writeWhole(dir, `${checkpoint.sequence}.binpb.zst`, bytes);
  }
};

const writeWhole = async (dir: string, name: string, bytes: Uint8Array): Promise<void> => {
  const temporary = join(dir, `.${name}.part`);
  try {
    await writeFile(temporary, bytes);
    await rename(temporary, join(dir, name));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
};
