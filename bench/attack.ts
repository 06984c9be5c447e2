/**
 * The service under attack: effects on other callers, its resources, and indexing. It runs as a
 * user starts it, except for an unreachable rate limit: limits on the work under way must hold.
 * Attackers and probes are threads of this process.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writeDemoLedger } from "../demo/write.ts";
import { startAttackers } from "./attack-attackers.ts";
import { phasesOver, type Statuses, smallQuery } from "./attack-attacks.ts";
import { type Probed, type ProbeKind, startProbes } from "./attack-probes.ts";
import { type Progress, progressOf, type Seen, watchService } from "./attack-watch.ts";
import { columns, type Figure, quantile } from "./figure.ts";
import { type StartedService, startWhole } from "./whole-service.ts";

const AIMS = { p99Ms: 500, maxMs: 1_000, nodeMb: 600, behind: 5 } as const;

/** Initial checkpoints: enough for pages of 1000 rows. */
const HISTORY = 5_000;
const PER_SECOND = 4;
const RATE_LIMIT = { RATE_LIMIT_PER_MINUTE: "10000000" };

/** About 110 facts per checkpoint: a million. */
const DENSE = { checkpoints: 9_000, actionsPerCheckpoint: 50, investors: 5_000, noise: 0 };

const QUIET_MS = 10_000;
const BETWEEN_MS = 5_000;
const RECOVERED_WITHIN_MS = 300_000;
const CAUGHT_UP_WITHIN_MS = 1_200_000;

type Row = {
  readonly label: string;
  readonly probed: readonly Probed[];
  readonly seen: Seen;
  /** Maximum lag in checkpoints; null while a whole ledger is indexed. */
  readonly behind: number | null;
  readonly attackers: Statuses;
  /** Ms until `/health` answered normally after the attack; absent without one. */
  readonly recoveredMs: number | undefined;
  readonly note: string;
};

/**
 * Takes about five minutes.
 * @param only phase names, comma-separated; absent: all
 * @throws for an unknown phase
 */
export const attackBench = async (only?: string): Promise<readonly Figure[]> => {
  const wanted = only?.split(",");
  const known = [...phasesOver([""]).map(({ name }) => name), INDEXING];
  const unknown = wanted?.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(`there is no attack ${unknown}; there are ${[...new Set(known)].join(", ")}`);
  }
  const isWanted = (name: string) => wanted === undefined || wanted.includes(name);
  const attacked = known.some((name) => name !== INDEXING && isWanted(name));
  const rows = [
    ...(attacked ? await attackAll(isWanted) : []),
    ...(isWanted(INDEXING) ? [await whileIndexing()] : []),
  ];
  const held = rows.filter((row) => missed(row).length === 0);
  return [
    {
      name: "the service under attack",
      reached: `${held.length} of ${rows.length} phases within all aims`,
      aim: `others' p99 under ${AIMS.p99Ms} ms and none over ${AIMS.maxMs} ms, our Node processes under ${AIMS.nodeMb} MB together, at most ${AIMS.behind} checkpoints behind, no restart`,
      detail: [
        "a probe of each kind every 50 ms; milliseconds are p50 / p99 / max:",
        ...tableOf(rows),
        ...rows.map(remarksOf),
      ].join("\n  "),
    },
  ];
};

const INDEXING = "indexing";

/** Every phase with an attack, in sequence on one service. */
const attackAll = async (isWanted: (name: string) => boolean): Promise<readonly Row[]> => {
  await using attackers = startAttackers();
  await using service = await startWhole({ DEMO_HISTORY: String(HISTORY), ...RATE_LIMIT });
  await caughtUp(service, ({ ageMs }) => ageMs < 1_000);
  const target = { port: service.port, key: await service.createKey("--kind", "graphql") };
  await using probes = probesOf(service, await service.createKey("--kind", "graphql"));
  await using watch = watchService(service);
  const rows: Row[] = [];
  for (const { name, label, attack } of phasesOver(service.coinTypes)) {
    if (!isWanted(name)) continue;
    await delay(BETWEEN_MS);
    await probes.take();
    watch.take();
    const beganMs = Date.now();
    const statuses = attack && (await attackers.run(attack, target));
    if (attack === undefined) await delay(QUIET_MS);
    const leftMs = Date.now();
    const probed = [...(await probes.take())];
    let recoveredMs: number | undefined;
    while (recoveredMs === undefined && Date.now() < leftMs + RECOVERED_WITHIN_MS) {
      await delay(1_000);
      probed.push(...(await probes.take()));
      recoveredMs = recovered(probed, leftMs);
    }
    const seen = watch.take();
    const row: Row = {
      label,
      probed: probed.filter(({ sentMs }) => sentMs >= beganMs && sentMs < leftMs),
      seen,
      behind: Math.floor((seen.ageMs * PER_SECOND) / 1_000),
      attackers: statuses ?? {},
      recoveredMs: statuses && (recoveredMs ?? Number.POSITIVE_INFINITY),
      note: "",
    };
    rows.push(row);
    tell(row);
  }
  return rows;
};

/** Probes a service that indexes a million facts, from its first answer on. */
const whileIndexing = async (): Promise<Row> => {
  const dir = await mkdtemp(join(tmpdir(), "holderbook-bench-"));
  try {
    const ledger = join(dir, "ledger");
    await writeDemoLedger({ dir: ledger, seed: "attack", format: "binpb", ...DENSE });
    await using service = await startWhole({ LEDGER_SOURCE: `dir:${ledger}`, ...RATE_LIMIT });
    const beganMs = Date.now();
    await using probes = probesOf(service, service.key);
    await using watch = watchService(service);
    await caughtUp(service, ({ next }) => next === BigInt(DENSE.checkpoints));
    const seconds = (Date.now() - beganMs) / 1_000;
    const [counted] = await service.database.sql<{ facts: bigint }[]>`
      select count(*) as facts from log_facts`;
    const row: Row = {
      label: INDEXING,
      probed: await probes.take(),
      seen: watch.take(),
      behind: null,
      attackers: {},
      recoveredMs: undefined,
      note: `${counted?.facts} facts in ${seconds.toFixed(0)} s`,
    };
    tell(row);
    return row;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

const probesOf = ({ port, coinTypes }: StartedService, key: string) =>
  startProbes({ port, key, body: smallQuery(coinTypes[0] ?? "") });

/** @throws with the progress, after twenty minutes */
const caughtUp = async (
  service: StartedService,
  isEnough: (progress: Progress) => boolean,
): Promise<void> => {
  const deadline = Date.now() + CAUGHT_UP_WITHIN_MS;
  for (;;) {
    const progress = await progressOf(service);
    if (isEnough(progress)) return;
    if (Date.now() > deadline) {
      throw new Error(`the service is only at checkpoint ${progress.next}: ${await service.log()}`);
    }
    await delay(100);
  }
};

/** Ms until the first `/health` request since then that was answered normally. */
const recovered = (probed: readonly Probed[], leftMs: number): number | undefined => {
  const first = probed.find(
    ({ kind, sentMs, tookMs, status }) =>
      kind === "health" && sentMs >= leftMs && status === "200" && tookMs < AIMS.p99Ms,
  );
  return first && first.sentMs + first.tookMs - leftMs;
};

const tookMs = ({ probed }: Row, kind: ProbeKind): readonly number[] =>
  probed.filter((probe) => probe.kind === kind).map((probe) => probe.tookMs);

const missed = (row: Row): readonly string[] => {
  const slow = KINDS.filter((kind) => {
    const millis = tookMs(row, kind);
    return quantile(millis, 0.99) > AIMS.p99Ms || Math.max(...millis) > AIMS.maxMs;
  });
  const unanswered = row.probed.some(({ status }) => status !== "200");
  return [
    ...slow,
    ...(unanswered ? ["answers"] : []),
    ...(row.seen.nodeMb > AIMS.nodeMb ? ["memory"] : []),
    ...((row.behind ?? 0) > AIMS.behind ? ["behind"] : []),
    ...(row.seen.restarts > 0 ? ["restart"] : []),
  ];
};

const KINDS: readonly ProbeKind[] = ["health", "query"];

const tableOf = (rows: readonly Row[]): readonly string[] =>
  columns([
    ["phase", "/health ms", "small query ms", "Node MB", "Postgres MB", "behind", "restarts"],
    ...rows.map((row) => [
      row.label,
      ...KINDS.map((kind) => spread(tookMs(row, kind))),
      row.seen.nodeMb.toFixed(0),
      row.seen.postgresMb.toFixed(0),
      row.behind?.toString() ?? "",
      row.seen.restarts.toString(),
    ]),
  ]);

const spread = (millis: readonly number[]): string =>
  [quantile(millis, 0.5), quantile(millis, 0.99), Math.max(...millis)]
    .map((each) => each.toFixed(each < 10 ? 1 : 0))
    .join(" / ");

const remarksOf = (row: Row): string => {
  const { label, probed, attackers, recoveredMs, note } = row;
  const statuses: Record<string, number> = {};
  for (const { status } of probed) statuses[status] = (statuses[status] ?? 0) + 1;
  const aims = missed(row);
  return [
    `${label}: ${aims.length === 0 ? "within all aims" : `misses ${aims.join(", ")}`}`,
    `others were answered ${written(statuses)}`,
    ...(recoveredMs === undefined
      ? []
      : [
          `the attackers ${written(attackers)}`,
          `/health as usual ${(recoveredMs / 1_000).toFixed(2)} s after they left`,
        ]),
    ...(note === "" ? [] : [note]),
  ].join("; ");
};

const written = (statuses: Statuses): string =>
  Object.entries(statuses)
    .map(([status, count]) => `${status} x ${count}`)
    .join(", ");

const tell = (row: Row): void => {
  const [, line = ""] = tableOf([row]);
  process.stderr.write(`${line}\n  ${remarksOf(row)}\n`);
};
