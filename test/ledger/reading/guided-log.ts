/** A demo ledger's log with every checkpoint, and one that was read guided and lacks most of them. */
import { createDemoLedger, type DemoOptions } from "../../../demo/demo-ledger.ts";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { readerAt } from "../../../src/ledger/reading/read.ts";
import { runReader } from "../../../src/ledger/reading/reader.ts";
import type { CheckpointSource } from "../../../src/ledger/sources/source.ts";
import { forgetBetween } from "../../log/damage.ts";
import { copyOf, freshDatabase } from "../../postgres.ts";
import { follow } from "../../service/following.ts";

export const FIRST = 5n;
export const NEWEST = 199n;
/** Of the checkpoints only the multiples of this one were read guided, and the last. */
export const EVERY = 17;

/** The ledger, and sources that serve what `give` makes of its checkpoints and note which. */
const demoCheckpoints = (options: Partial<DemoOptions>) => {
  const ledger = createDemoLedger({ seed: 5, epochLength: 60, ...options });
  const genuine = Array.from({ length: Number(NEWEST) + 1 }, (_, i): RawCheckpoint => {
    return { sequence: BigInt(i), encoding: "bcs", bytes: ledger.next().raw("bcs") };
  });
  const sourceOf = (give: (raw: RawCheckpoint) => RawCheckpoint = (raw) => raw) => {
    const fetched: bigint[] = [];
    const source: CheckpointSource = {
      description: "test",
      chainId: async () => ledger.chainId,
      latest: async () => NEWEST,
      checkpoints: async function* ({ first, last = NEWEST }) {
        for (const raw of genuine.slice(Number(first), Number(last) + 1)) {
          fetched.push(raw.sequence);
          yield give(raw);
        }
      },
      close: async () => {},
    };
    return { source, fetched };
  };
  return { ledger, genuine, sourceOf };
};

/** Both logs, with everything that the pipelines make of them. */
export const guidedLog = async (options: Partial<DemoOptions> = {}) => {
  const { ledger, genuine, sourceOf } = demoCheckpoints(options);
  const exhaustive = await freshDatabase();
  await runReader(
    {
      database: exhaustive,
      source: sourceOf().source,
      read: readerAt("signatures"),
      verification: {
        level: "signatures",
        trust: async () => ({ committee: ledger.committee }),
      },
      packages: ledger.packages,
      firstCheckpoint: FIRST,
      last: NEWEST,
      bounds: { checkpoints: 1 },
    },
    AbortSignal.timeout(60_000),
  );
  await (await follow(exhaustive, ledger)).project(1_000);
  const guided = await copyOf(exhaustive);
  await forgetBetween(guided, EVERY);
  const [coinType = ""] = ledger.model.coins.keys();
  return {
    exhaustive,
    guided,
    genuine,
    sourceOf,
    coinType,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([exhaustive.close(), guided.close()]);
    },
  };
};
