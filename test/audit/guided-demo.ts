/** A guided log of a demo ledger's first checkpoints, and the ledger as files. */
import { join } from "node:path";
import { expect } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { writeDemoLedger } from "../../demo/write.ts";
import type { Database } from "../../src/database/connect.ts";
import { packMembers } from "../../src/ledger/proof/committee.ts";
import { committeeAfter } from "../../src/ledger/proof/prover.ts";
import { type ReadCheckpoint, readerAt } from "../../src/ledger/reading/read.ts";
import type { LogCommittee, StretchProof } from "../../src/log/fact.ts";
import type { LogSummary } from "../../src/log/guided.ts";
import { openLog } from "../../src/log/log.ts";
import { runCommand } from "../commands/run-command.ts";
import { piecesOf } from "../log/facts.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";

/** Few facts, so that most checkpoints have none; epochs of 40. */
const OPTIONS = { seed: 3, investors: 12, noise: 0.8, epochLength: 40 } as const;

const FRAMEWORK = `0x${"0".repeat(63)}2::`;

export type GuidedDemo = {
  /** Settings with the ledger's folder and committee. */
  readonly settings: Readonly<Record<string, string>>;
  readonly seen: readonly ReadCheckpoint[];
  /** Checkpoints that guided reading reads. */
  readonly read: readonly bigint[];
  /** Appends what guided reading would, in batches that end with these. */
  readonly append: (database: Database, ...ends: readonly number[]) => Promise<void>;
  readonly summaryOf: (checkpoint: bigint) => LogSummary;
};

const proofOf = ({ mark: { sequence }, certified }: ReadCheckpoint): StretchProof => {
  if (certified?.certificate == null) throw new Error("a checkpoint of the demo is signed");
  const { summary, certificate } = certified;
  const { epoch, signature, signers } = certificate;
  return {
    ...{ firstCheckpoint: sequence, lastCheckpoint: sequence },
    ...{ epoch, summary, signature, signers },
  };
};

/** @param ends checkpoints that are read besides those of the contract */
export const guidedDemo = async (
  folder: string,
  checkpoints: number,
  ends: readonly number[],
): Promise<GuidedDemo> => {
  const dir = join(folder, "ledger");
  await writeDemoLedger({ dir, checkpoints, format: "binpb", ...OPTIONS });
  const ledger = createDemoLedger(OPTIONS);
  const { chainId, committee } = ledger;
  const [original = ""] = ledger.packages;
  let packages = [original];
  const securities = new Set(ledger.coinTypes.map(({ coinType }) => coinType));
  const seen = Array.from({ length: checkpoints }, (): ReadCheckpoint => {
    const { sequence, raw } = ledger.next();
    const bytes = raw("protobuf");
    const one = readerAt("signatures")(packages)({ sequence, encoding: "protobuf", bytes });
    packages = [...packages, ...one.joined.map(({ address }) => address)];
    return {
      ...one,
      facts: one.facts.filter(
        ({ type, coinType }) => !type.startsWith(FRAMEWORK) || securities.has(coinType ?? ""),
      ),
    };
  });
  const isRead = ({ mark, facts, joined, certified }: ReadCheckpoint) =>
    facts.length + joined.length > 0 ||
    certified?.nextCommittee !== null ||
    ends.includes(Number(mark.sequence));
  const chosen = seen.filter(isRead);
  const committeesOf = (read: readonly ReadCheckpoint[], first: bigint): LogCommittee[] => [
    ...(first === 0n
      ? [{ epoch: committee.epoch, members: packMembers(committee.members), namedBy: null }]
      : []),
    ...read.flatMap(({ mark, certified }) => {
      const after = certified === undefined ? null : committeeAfter(certified);
      if (after === null) return [];
      const { epoch, members } = after;
      return [{ epoch, members: packMembers(members), namedBy: mark.sequence }];
    }),
  ];
  return {
    settings: {
      LEDGER_SOURCE: `dir:${dir}`,
      COMMITTEE_FILE: join(dir, "ledger.json"),
      VERIFY: "signatures",
    },
    seen,
    read: chosen.map(({ mark }) => mark.sequence),
    append: async (database, ...batchEnds) => {
      const log = await openLog(database, { chainId, packages: [original] });
      for (const end of batchEnds) {
        const { nextCheckpoint: first } = await log.highWater();
        const own = chosen.filter(({ mark: { sequence } }) => sequence >= first && sequence <= end);
        const last = own.at(-1)?.mark;
        if (last?.sequence !== BigInt(end)) throw new Error(`checkpoint ${end} is not read`);
        await log.append(
          {
            ...{ first, last, guided: true },
            marks: own.flatMap(({ mark, facts }) => (facts.length > 0 ? [mark] : [])),
            blocks: piecesOf(own.map(({ mark }) => mark)),
            facts: own.flatMap(({ facts }) => facts),
            joined: own.flatMap(({ joined }) => joined),
            proofs: own.map(proofOf),
            committees: committeesOf(own, first),
          },
          own.flatMap(({ coins }) => coins.filter(({ coinType }) => securities.has(coinType))),
        );
      }
    },
    summaryOf: (checkpoint) => {
      const one = seen[Number(checkpoint)];
      if (one === undefined) throw new Error(`the demo does not have checkpoint ${checkpoint}`);
      const { firstCheckpoint: _, lastCheckpoint: __, ...proof } = proofOf(one);
      return { ...one.mark, ...proof };
    },
  };
};

/** Read guided through here, then whole. */
export const GUIDED = 150;
export const LAST = 169;

/** A log that was read guided in two batches, then whole, and the ledger's folder. */
export const guidedLog = async () => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const database = opened.adopt(await freshDatabase(), (one) => one.close());
  const demo = await guidedDemo(folder.path, LAST + 1, [60, GUIDED]);
  const settings: GuidedDemo["settings"] = { ...demo.settings, DATABASE_URL: database.url };
  await demo.append(database, 60, GUIDED);
  const { code, stderr } = await runCommand(["index", "--last", `${LAST}`], settings);
  expect(code, stderr).toBe(0);
  const kept = opened.move();
  const close = () => kept.disposeAsync();
  return { demo, database, folder, settings, close };
};
