import { Command } from "commander";
import type { CompletenessCertificate } from "../../client/completeness.ts";
import { certify, storeProof } from "../audit/complete/certificate.ts";
import { NothingToProveError, type Proof, prove } from "../audit/complete/prove.ts";
import type { UpgradeCap } from "../audit/complete/upgrades.ts";
import type { CoinProof } from "../audit/complete/verdict.ts";
import type { DeploymentKey } from "../audit/sequence/deployment-key.ts";
import { acceptedBytecode } from "../ledger/contract/bytecode.ts";
import { HistoryIndexMissingError } from "../ledger/history/history-errors.ts";
import type { LedgerIndex } from "../ledger/history/ledger-index.ts";
import { hasGuided, isBetween } from "../log/between.ts";
import { resolveCoin } from "../log/coins.ts";
import { askingFor, createAsking } from "../projections/asking.ts";
import { BetweenReadError } from "../projections/past.ts";
import { configuredKey } from "../service/configured-keys.ts";
import { openLedgerIndex, openWitness } from "../service/ledger-index.ts";
import { verificationOf } from "../service/ledger-source.ts";
import { ConfigError } from "../settings/config-error.ts";
import { checkpointArgument } from "./arguments.ts";
import { coinOption } from "./cap-table-at.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { endCheck, notShown, onFaith, printJson, printLines } from "./output.ts";
import { openNamedSource } from "./sources.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly coin?: string;
  readonly through?: bigint;
  readonly source?: string;
  readonly json?: boolean;
};

/** `holderbook prove`: shows what the log has. */
export const proveCommand = () => new Command("prove").addCommand(completeCommand());

const completeCommand = () =>
  new Command("complete")
    .description(
      "show that no transaction of a token is missing from the log, and sign a certificate",
    )
    .addOption(coinOption().makeOptionMandatory(false))
    .option(
      "--through <checkpoint>",
      "up to this checkpoint; default: the log's last",
      checkpointArgument,
    )
    .option("--source <url>", "source of whole checkpoints; default: LEDGER_SOURCE")
    .option("--json", "print one JSON document instead of text")
    .addHelpText(
      "after",
      "\nChecks that every object of a token has all its versions, that every transaction does what a function of\n" +
        "the contract does, that tokens and grants come to the supply after every change, that the contract's code\n" +
        "is known, and that a full node (INDEX_SOURCE or LEDGER_SOURCE, and WITNESS_SOURCE) serves no newer version.\n" +
        "A token of which a change is missing is served like one in quarantine. Exit codes: 0 complete, 1 incomplete\n" +
        "(a change is missing, or an upgrade's code is not known), 2 wrong usage, 3 not shown: nothing is known to be\n" +
        "missing, but not everything could be shown.",
    )
    .action(async (options: Options) => {
      await using opened = await openDatabase();
      try {
        await proveAndPrint(opened, options);
      } catch (error) {
        const isUsage = error instanceof NothingToProveError;
        if (options.json && (isUsage || error instanceof BetweenReadError)) {
          printJson({ tokens: [], certificates: [], notRead: error.message });
        }
        throw isUsage ? new UsageError(error.message) : error;
      }
    });

/** @throws NothingToProveError (stop), BetweenReadError (wait) */
const proveAndPrint = async (opened: OpenDatabase, options: Options): Promise<void> => {
  const { write, signal } = opened;
  const { coin, through } = options;
  const coinType = coin === undefined ? undefined : (await resolveCoin(write.db, coin)).coinType;
  const { key, unsigned } = await openedKey(opened);
  if (through !== undefined) {
    await askingFor(createAsking(write), async () => {
      if (!(await isBetween(write, through))) return;
      throw new BetweenReadError({ kind: "checkpoint", checkpoint: through });
    });
  }
  const proof = await proveWith(opened, { ...options, coinType });
  const certificates = key === undefined ? null : await certify(proof, key);
  const isKept = await write.transaction(({ sql }) =>
    storeProof(sql, proof, certificates, coinType === undefined),
  );
  const notes = { unsigned, notKept: isKept ? null : NOT_KEPT };
  if (options.json) printJson({ ...asJson(proof), certificates: certificates ?? [], ...notes });
  else printLines(inWords(proof, certificates ?? [], notes));
  const verdicts = proof.coins.map(({ verdict }) => verdict);
  endCheck({
    isFalse: verdicts.includes("incomplete"),
    isUnshown: verdicts.includes("not shown"),
  });
  signal.throwIfAborted();
};

/** Why a certificate lacks its signature, and why a proof is not stored; null: it is. */
type Notes = { readonly unsigned: string | null; readonly notKept: string | null };

const NOT_KEPT = "a proof through a later checkpoint is stored, and counts for packs and answers";

/** The deployment's key, or why nothing is signed: a service makes it when it starts. */
const openedKey = async (
  opened: OpenDatabase,
): Promise<{ readonly key?: DeploymentKey; readonly unsigned: string | null }> => {
  try {
    const key = await configuredKey(opened.config, { existing: true }).open(opened);
    return { key, unsigned: null };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { unsigned: error.message };
  }
};

/**
 * The lists to prove with; null without. A full node of LEDGER_SOURCE may lack them where every
 * checkpoint was read: the proof then rests on that.
 */
const openLists = async ({
  config,
  logger,
  signal,
  write,
}: OpenDatabase): Promise<LedgerIndex | null> => {
  const { indexSource, ledgerSources } = config;
  if (indexSource === undefined) return null;
  const index = await openLedgerIndex(config, logger);
  const isNeeded = !ledgerSources.includes(indexSource) || (await hasGuided(write));
  try {
    await index.covers(signal);
    return index;
  } catch (error) {
    await index.close();
    if (error instanceof HistoryIndexMissingError && !isNeeded) return null;
    throw error;
  }
};

const proveWith = async (
  opened: OpenDatabase,
  { coinType, through, source: setting }: Options & { readonly coinType: string | undefined },
): Promise<Proof> => {
  const { config, logger, signal, write } = opened;
  // Whole checkpoints with their signatures.
  const verifying = { ...config, verify: { ...config.verify, level: "signatures" as const } };
  const { source, demo } = await openNamedSource(verifying, setting, logger);
  const nodes: LedgerIndex[] = [];
  try {
    const index = await openLists(opened);
    if (index !== null) nodes.push(index);
    const witness = (await openWitness(config, logger)) ?? null;
    if (witness !== null) nodes.push(witness);
    return await prove(
      write,
      {
        ...{ coinType, through, source, index, witness },
        verification: verificationOf(verifying, demo?.source.committee),
        accepted: acceptedBytecode(config.contractBytecode),
      },
      signal,
    );
  } finally {
    await Promise.all([source, ...nodes].map((each) => each.close()));
  }
};

const asJson = ({ through, isGuided, profile, code, heads, whole, coins }: Proof) => ({
  through: { checkpoint: through.sequence, digest: through.digest },
  read: isGuided ? "guided" : "every checkpoint",
  profile,
  packages: code.versions,
  upgradeCaps: code.caps,
  heads: heads.map(({ source, as, at, askedAt }) => ({ source, as, at, askedAt })),
  wholeCheckpoints: whole,
  tokens: coins.map(({ coinType, verdict, chains, transactions, gaps, unknownCode, ...rest }) => ({
    ...{ coinType, verdict, transactions },
    chains: { ...chains, coinType: undefined },
    isWithheld: gaps.length > 0,
    incomplete: [...gaps, ...unknownCode].map(({ objectId, version, from, what }) => ({
      ...{ objectId, version, from, why: what },
    })),
    notShown: rest.notShown,
    onFaith: rest.onFaith,
  })),
});

const inWords = (
  proof: Proof,
  certificates: readonly CompletenessCertificate[],
  { unsigned, notKept }: Notes,
) => {
  const { through, isGuided, profile, code, heads, whole, coins } = proof;
  const [{ onFaith: faith } = { onFaith: [] }] = coins;
  return [
    ...coins.flatMap((coin) => coinInWords(coin, through.sequence)),
    `${isGuided ? "read by guided reading" : "every checkpoint was read"} up to checkpoint ${through.sequence}; profile ${profile}, versions of the contract: ${code.versions.length}`,
    ...heads.map(
      ({ source, as, counts }) =>
        `heads by ${source} (${as}): ${sumOf(counts, "same")} objects unchanged, ${sumOf(counts, "changed")} changed since`,
    ),
    `whole checkpoints read: ${whole.read}, of which ${whole.committed} are shown to commit to their objects`,
    ...code.caps.flatMap(deletionInWords),
    ...certificates.map(
      ({ coinType, keyId }) =>
        `certificate of ${coinType} signed with ${keyId}; --json prints it${notKept === null ? "" : ", and it is not kept"}`,
    ),
    ...(notKept === null ? [] : [`not kept: ${notKept}`]),
    ...new Set(coins.flatMap((coin) => coin.notShown).map(notShown)),
    ...faith.map(onFaith),
    ...(unsigned === null ? [] : [`not signed: ${unsigned}`]),
  ];
};

const deletionInWords = ({ objectId, deleted }: UpgradeCap): readonly string[] =>
  deleted === null
    ? []
    : [
        `upgrade capability ${objectId} was deleted at checkpoint ${deleted.checkpoint}: the package can no longer be upgraded`,
      ];

const sumOf = (counts: Proof["heads"][number]["counts"], of: "same" | "changed"): bigint =>
  [...counts.values()].reduce((sum, each) => sum + each[of], 0n);

const coinInWords = (
  { coinType, verdict, chains, transactions, gaps, unknownCode, newer }: CoinProof,
  through: bigint,
): readonly string[] => {
  const counted = `${chains.objects} objects in ${chains.versions} versions, ${transactions} transactions, ${chains.checkpoints} checkpoints, supply ${chains.supply}`;
  if (verdict === "complete")
    return [`${coinType} is complete through checkpoint ${through}: ${counted}`];
  if (verdict === "not shown" && newer.length > 0) {
    return [
      `${coinType} is NOT SHOWN to be complete: nodes name versions that are not in the log`,
      ...newer.map(
        ({ objectId, version, what }) => `  object ${objectId}, version ${version}: ${what}`,
      ),
    ];
  }
  if (verdict === "not shown") {
    return [`${coinType}: nothing is missing as far as could be shown: ${counted}`];
  }
  return [
    `${coinType} is INCOMPLETE:`,
    ...[...gaps, ...unknownCode].map(
      ({ objectId, version, what }) => `  object ${objectId}, version ${version}: ${what}`,
    ),
  ];
};
