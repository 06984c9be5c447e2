/**
 * A cap table as Open Cap Format 1.2.0: a folder of JSON files with every movement up to a
 * checkpoint, ending in its cap table. Output is deterministic per checkpoint and lot policy; an
 * earlier checkpoint's transactions are a prefix. See `docs/how-to/audit.md`.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { Reads } from "../../database/readers.ts";
import type { CapRow, CapWallet } from "../../projections/cap-tables.ts";
import { token } from "../../projections/tokens.ts";
import type { SuiToken } from "../../settings/assets.ts";
import { writeNewFolder } from "../exports/new-folder.ts";
import { formed, OcfCheck } from "./check.ts";
import { ItemFiles } from "./files.ts";
import {
  type Issuer,
  type Manifest,
  manifestForm,
  OCF_DIGITS,
  type Stakeholder,
  type StockClass,
} from "./forms.ts";
import { OcfHistory } from "./history.ts";
import type { LotPolicy } from "./lots.ts";
import { SECURITY_PREFIX, STOCK_CLASS } from "./securities.ts";
import { ledgerSteps } from "./source.ts";
import { dayOf } from "./vesting.ts";
import { stakeholderId } from "./wallets.ts";

type OcfRequest = {
  /** Canonical. */
  readonly coinType: string;
  /** Null if unknown. */
  readonly decimals: number | null;
  readonly checkpoint: bigint;
  /** Unix seconds. */
  readonly checkpointTimestamp: bigint;
  readonly checkpointDigest: string;
  /** All rows of that checkpoint's cap table, in order. */
  readonly rows: AsyncIterable<readonly CapRow[]>;
  /** Which lots tokens leave from; the ledger has no lots. */
  readonly lots: LotPolicy;
  /** Facts about the issuer from outside the ledger; placeholders replace missing ones. */
  readonly issuer: SuiToken["issuer"];
  /** Absent, or an empty folder. */
  readonly folder: string;
  /** Aborted when the caller disconnects; removes everything written so far. */
  readonly signal?: AbortSignal | undefined;
};

type OcfWritten = { readonly transactions: number; readonly stakeholders: number };

const VERSION = "1.2.0";

/** Transactions or holders before yielding the thread: a few ms. */
const ITEMS_PER_TURN = 100;

const LOTS: Readonly<Record<LotPolicy, string>> = {
  fifo: "lots: fifo. Tokens leave a wallet from its oldest securities first; an accounting policy, the ledger does not know lots",
  "pro-rata":
    "lots: pro-rata. Tokens leave a wallet from all its securities in proportion, rounded to the smallest unit by largest remainder, the oldest of equal ones first; an accounting policy, the ledger does not know lots",
};

/** Placeholders: `ZZ` is no country's code. */
const NO_COUNTRY = "ZZ";
const NO_DATE = "1970-01-01";

/**
 * Writes and checks a cap table with its history: it must add up to the cap table, holder by
 * holder, or nothing is left behind.
 * @throws OcfError (stop), FolderInUseError
 */
export const writeOcf = (reads: Reads, request: OcfRequest): Promise<OcfWritten> =>
  writeNewFolder(request.folder, async (folder) => {
    const files = {
      classes: new ItemFiles(folder, "StockClasses"),
      transactions: new ItemFiles(folder, "Transactions"),
      legends: new ItemFiles(folder, "StockLegends"),
      terms: new ItemFiles(folder, "VestingTerms"),
      stakeholders: new ItemFiles(folder, "Stakeholders"),
    };
    try {
      return await write(reads, request, folder, files);
    } finally {
      for (const file of Object.values(files)) await file.abandon();
    }
  });

type Files = Readonly<
  Record<"classes" | "transactions" | "legends" | "terms" | "stakeholders", ItemFiles>
>;

const write = async (
  reads: Reads,
  request: OcfRequest,
  folder: string,
  files: Files,
): Promise<OcfWritten> => {
  const { coinType, checkpoint } = request;
  const check = new OcfCheck();
  const symbol = await symbolOf(reads, request);
  const stockClass = JSON.stringify(classOf(symbol, request));
  check.stockClass(stockClass);
  await files.classes.add(stockClass);

  const digits = digitsOf(request);
  const history = new OcfHistory({ digits, lots: request.lots });
  for await (const step of ledgerSteps(reads, { coinType, checkpoint })) {
    for (const transaction of history.transactions(step)) {
      const text = JSON.stringify(transaction);
      check.transaction(text);
      await files.transactions.add(text);
      if (files.transactions.count % ITEMS_PER_TURN !== 0) continue;
      await turn();
      request.signal?.throwIfAborted();
    }
  }
  for (const legend of history.legends) {
    const text = JSON.stringify(legend);
    check.legend(text);
    await files.legends.add(text);
  }
  for (const terms of history.terms) {
    const text = JSON.stringify(terms);
    check.vestingTerms(text);
    await files.terms.add(text);
  }
  const unit = 10n ** BigInt(OCF_DIGITS - digits);
  const addStakeholder = async (stakeholder: Stakeholder, wallets: readonly CapWallet[]) => {
    const text = JSON.stringify(stakeholder);
    check.stakeholder(text, wallets, unit);
    await files.stakeholders.add(text);
  };
  for await (const page of request.rows) {
    for (const [place, { holderId, wallets }] of page.entries()) {
      if (place % ITEMS_PER_TURN === 0) await turn();
      const addresses = wallets.map(({ address }) => address);
      const id = stakeholderId(holderId, addresses[0] ?? "");
      await addStakeholder(stakeholderOf(id, `wallets: ${addresses.join(", ")}`), wallets);
    }
  }
  for (const id of check.unlisted) {
    await addStakeholder(stakeholderOf(id, "holds nothing any more"), []);
  }
  check.end();

  const manifest = JSON.stringify(await manifestOf(request, symbol, files), undefined, 2);
  formed(manifestForm, manifest);
  await writeFile(join(folder, "Manifest.ocf.json"), `${manifest}\n`, { flag: "wx" });
  return { transactions: files.transactions.count, stakeholders: files.stakeholders.count };
};

/** Decimals; 0 (smallest unit) if the token has more than the format allows. */
const digitsOf = ({ decimals }: OcfRequest): number =>
  decimals === null || decimals > OCF_DIGITS ? 0 : decimals;

/** The token's symbol; the name of its type without metadata. */
const symbolOf = async (reads: Reads, { coinType, checkpoint }: OcfRequest) => {
  const seen = await token(reads, { coinType, at: checkpoint });
  const typeName = /(\w+)(<.*)?$/.exec(coinType)?.[1] ?? coinType;
  return { symbol: seen?.symbol || typeName, name: seen?.name || typeName };
};

type Called = { readonly symbol: string; readonly name: string };

const classOf = ({ name }: Called, { coinType, lots }: OcfRequest): StockClass => ({
  object_type: "STOCK_CLASS",
  id: STOCK_CLASS,
  name,
  class_type: "COMMON",
  default_id_prefix: SECURITY_PREFIX,
  initial_shares_authorized: "NOT APPLICABLE",
  votes_per_share: "1",
  seniority: "1",
  comments: [
    `coin type ${coinType}`,
    LOTS[lots],
    "class type, votes and seniority are placeholders: the ledger does not say them",
  ],
});

const stakeholderOf = (id: string, about: string): Stakeholder => {
  const holder = /^holder-(\d+)$/.exec(id)?.[1];
  return {
    object_type: "STAKEHOLDER",
    id,
    name: {
      legal_name:
        holder === undefined ? `Wallet ${id.slice("wallet-".length)}` : `Holder ${holder}`,
    },
    stakeholder_type: "INDIVIDUAL",
    ...(holder !== undefined && { issuer_assigned_id: holder }),
    comments: [about, "name and type are placeholders: the ledger does not say them"],
  };
};

const issuerOf = ({ issuer }: OcfRequest, { symbol }: Called): Issuer => ({
  object_type: "ISSUER",
  id: "issuer",
  legal_name: issuer?.legalName ?? `Issuer of ${symbol}`,
  formation_date: issuer?.formationDate ?? NO_DATE,
  country_of_formation: issuer?.countryOfFormation ?? NO_COUNTRY,
  comments: [
    issuer === undefined
      ? "name, date and country are placeholders: the ledger does not say them, and the assets file has no issuer"
      : "name, date and country are of the assets file",
  ],
});

const manifestOf = async (request: OcfRequest, called: Called, files: Files): Promise<Manifest> => {
  const { coinType, decimals, checkpoint, checkpointDigest } = request;
  const timestampMs = request.checkpointTimestamp * 1_000n;
  const unit =
    decimals !== null && decimals <= OCF_DIGITS
      ? `quantities are in whole tokens, with up to ${decimals} decimals`
      : `quantities are in the smallest unit of the token, which has ${decimals ?? "unknown"} decimals`;
  return {
    file_type: "OCF_MANIFEST_FILE",
    ocf_version: VERSION,
    issuer: issuerOf(request, called),
    as_of: dayOf(timestampMs),
    generated_at: new Date(Number(timestampMs)).toISOString(),
    stock_plans_files: [],
    stock_legend_templates_files: await files.legends.end(),
    stock_classes_files: await files.classes.end(),
    vesting_terms_files: await files.terms.end(),
    valuations_files: [],
    transactions_files: await files.transactions.end(),
    stakeholders_files: await files.stakeholders.end(),
    comments: [
      `coin type ${coinType}`,
      `the register after checkpoint ${checkpoint}, digest ${checkpointDigest}`,
      "generated_at is the time of that checkpoint, so that the same checkpoint gives the same files",
      unit,
      LOTS[request.lots],
      "share prices are 0 XXX: the ledger does not say them",
      "dates are days in UTC",
    ],
  };
};
