/**
 * The record of a replay from the source. It is an operators' act, so that the sequence, audit packs and their
 * verifiers carry it as they are. It is in every pack: it names checkpoints and tables, but no coin, holder or address
 * of a source.
 */
import type { CheckpointRange } from "../../log/guided.ts";
import type { Comparison } from "../../pipelines/replay/replay.ts";
import type { LedgerSource } from "../../settings/ledger-sources.ts";
import type { ActDetails } from "../sequence/acts.ts";
import type { SourceFound } from "./source-reading.ts";

export type SourceReplay = {
  readonly chainId: string | null;
  readonly sources: readonly Pick<LedgerSource, "setting">[];
  readonly began: Date;
  /** Whether the validators' signatures were verified. */
  readonly isVerified: boolean;
  readonly found: SourceFound;
  /** Of these only the checkpoints that the log has read are compared. */
  readonly guided: readonly CheckpointRange[];
  /** Of each group of pipelines; empty if the log differs, because rows made from it show nothing. */
  readonly comparisons: readonly Comparison[];
};

/** `incomplete`: nothing differs, but the source lacks checkpoints. */
export type SourceResult = "identical" | "different" | "incomplete";

export const resultOf = ({
  found: { faults, gaps },
  comparisons,
}: Pick<SourceReplay, "found" | "comparisons">): SourceResult => {
  const differs = comparisons.some(({ differences }) => differences.length > 0);
  if (faults.length > 0 || differs) return "different";
  return gaps.length > 0 ? "incomplete" : "identical";
};

/** Texts that have to fit into 2,000 characters. */
const MOST_LISTED = 40;

const listed = (texts: readonly string[]): string | null => {
  if (texts.length === 0) return null;
  const more = texts.length - MOST_LISTED;
  return [...texts.slice(0, MOST_LISTED), ...(more > 0 ? [`${more} more`] : [])].join(", ");
};

const KINDS = [
  ["demo:", "demo ledger"],
  ["dir:", "folder"],
  ["archive:", "archive"],
  ["grpc+", "full node"],
  ["http", "object store"],
] as const;

/** Without addresses, which may hold a provider's key. */
const kindOf = (setting: string): string =>
  KINDS.find(([begin]) => setting.startsWith(begin))?.[1] ?? "unknown";

/** Kinds of these sources, without addresses. */
export const kindsOf = (sources: SourceReplay["sources"]): string =>
  [...new Set(sources.map(({ setting }) => kindOf(setting)))].join(", ");

/** Details of the act. */
export const recordOf = (replay: SourceReplay): ActDetails => {
  const { chainId, sources, began, isVerified, found, guided, comparisons } = replay;
  const { first, last, checkpoints, facts, signatures, faults, gaps } = found;
  const pipelines = comparisons.flatMap(({ checkpoints: ends, digests }) =>
    Object.entries(ends).map(
      ([name, end]) => `${name} ${end ?? "none"} ${digests[name] ?? "none"}`,
    ),
  );
  const rows = comparisons.flatMap(({ tables }) => Object.entries(tables));
  const differences = comparisons.flatMap(({ differences }) => differences);
  return {
    from: "source",
    result: resultOf(replay),
    began: began.toISOString(),
    chain: chainId,
    source: kindsOf(sources) || null,
    verified: isVerified ? "signatures" : "links",
    first: `${first}`,
    last: `${last}`,
    checkpoints: `${checkpoints}`,
    facts: `${facts}`,
    signatures: `${signatures}`,
    missing: listed(gaps.map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`))),
    ...(guided.length > 0 && {
      readGuided: listed(guided.map((range) => `${range.first} to ${range.last}`)),
    }),
    logDiffers: listed(faults.map(({ checkpoint }) => `${checkpoint}`)),
    pipelines: listed(pipelines),
    rows: listed(rows.map(([table, count]) => `${table} ${count}`)),
    rowsDiffer: listed(differences.map(({ table, count }) => `${table} ${count}`)),
  };
};
