/** The configured assets with a register and a relay each, and requests of missing assets. */
import type { Sql } from "../../database/connect.ts";
import type { MaybePromise } from "../../database/short-cache.ts";
import { treasuryOf } from "../../log/coins.ts";
import type { Logger } from "../../logging/logger.ts";
import type { SignedBefore } from "../ledgers/evm-broadcast.ts";
import type { Relay } from "../ledgers/relay.ts";
import type { EvmSigner, SuiSigner } from "../ledgers/signer.ts";
import { type SuiNode, suiRelay } from "../ledgers/sui-relay.ts";
import type { TaAsset } from "../requests/asset.ts";
import { registerOf } from "./register.ts";
import type { ProcessedAsset } from "./request.ts";

/** Nodes and signers. */
export type LedgerAccess = {
  readonly sui?: {
    readonly node: SuiNode;
    /** By the asset's name. */
    readonly signerOf: (asset: string) => SuiSigner | undefined;
    /** Addresses of the security-token package as the log knows them, the newest one last. */
    readonly packages: () => MaybePromise<readonly string[]>;
    /** The most one transaction may cost, MIST. */
    readonly gasBudget: bigint;
  };
  readonly evm?: { readonly signer: EvmSigner };
};

/** Requests of assets that this process cannot process wait: `onMissing` gets what they lack. */
export const processedAssets = async (
  assets: Iterable<TaAsset>,
  access: LedgerAccess,
  sql: Sql,
  onMissing: (asset: string, what: string) => void,
): Promise<readonly ProcessedAsset[]> => {
  const processed: ProcessedAsset[] = [];
  for (const asset of assets) {
    const { name, whitelistGroupId } = asset;
    const relay =
      asset.ledger === "sui"
        ? suiRelayOf(asset, access, sql)
        : await evmRelayOf(asset, access, sql);
    if (typeof relay === "string") onMissing(name, relay);
    else processed.push({ name, whitelistGroupId, register: registerOf(sql, asset), relay });
  }
  return processed;
};

/** A text names what is missing. */
const suiRelayOf = (
  { name, coinType }: Extract<TaAsset, { ledger: "sui" }>,
  { sui }: LedgerAccess,
  sql: Sql,
): Relay | string => {
  const signer = sui?.signerOf(name);
  if (sui === undefined) return "a full node to send to";
  if (signer === undefined) return "a key to sign with";
  const { node, packages, gasBudget } = sui;
  return suiRelay({
    node,
    signer,
    coinType,
    packageId: async () => newestOf(await packages()),
    treasuryId: () => treasuryOf({ sql }, coinType),
    gasBudget,
  });
};

const newestOf = (packages: readonly string[]): string => {
  const newest = packages.at(-1);
  if (newest === undefined) throw new Error("a log is begun with one package at least");
  return newest;
};

const evmRelayOf = async (
  { token }: Extract<TaAsset, { ledger: "evm" }>,
  { evm }: LedgerAccess,
  sql: Sql,
): Promise<Relay | string> => {
  if (evm === undefined) return "a key to sign with";
  // Lazy: the code that talks to chains is large.
  const { evmRelay } = await import("../ledgers/evm-relay.ts");
  const { chainId, rpc, type, address } = token;
  return evmRelay({
    chainId,
    rpc,
    token: address,
    type,
    signer: evm.signer,
    lowestNonce: (resource) => lowestNonce(sql, resource),
    signedBefore: (resource, nonces) => signedBefore(sql, resource, nonces),
  });
};

/**
 * One above the nonces of the sender's stored transactions; 0 without any. A lagging node does not know
 * all of them, and one that a reorganisation removed keeps its nonce (`signedBefore`).
 * @param resource name of the sender's nonces (`Resource`)
 */
const lowestNonce = async (sql: Sql, resource: string): Promise<number> => {
  const [newest] = await sql<{ nonce: bigint }[]>`
    select nonce from ta_transactions
    where resource = ${resource} and nonce is not null
      -- A refused one is never submitted again: its nonce is free, or known as spent by every node.
      and refusal is null
    order by nonce desc limit 1`;
  return newest === undefined ? 0 : Number(newest.nonce) + 1;
};

/**
 * The first `limit` transactions with a sender's nonces from `from` to below `below`, one per nonce. Open
 * and successful ones are submitted again. Refused and failed ones are replaced: a refused one must never
 * be submitted again, and a failed one must not succeed after its failure was reported.
 */
const signedBefore = async (
  sql: Sql,
  resource: string,
  { from, below, limit }: { readonly from: number; readonly below: number; readonly limit: number },
): Promise<readonly SignedBefore[]> => {
  const rows = await sql<
    { nonce: bigint; signed: Uint8Array; undone: boolean; asset: string; requestId: string }[]
  >`
    select distinct on (t.nonce) t.nonce, t.signed, r.asset, r.id as "requestId",
           not case r.status when 'SUCCESS' then true
                             when 'FAILED' then r.reason = 'CALLBACK_DELIVERY_FAILED'
                             else t.refusal is null end as undone
    from ta_transactions t join ta_requests r on r.id = t.request_id
    where t.resource = ${resource} and t.nonce >= ${from} and t.nonce < ${below}
    -- A nonce whose first transaction was refused may have got a second one.
    order by t.nonce, undone limit ${limit}`;
  return rows.map(({ nonce, signed, undone, ...about }) => ({
    nonce: Number(nonce),
    signed,
    replaced: undone ? about : null,
  }));
};

/** In one warning. */
const MOST_LISTED = 20;

/** Warns once for each asset that has open requests and is not among `assets`. */
export const warnOfLeftRequests = async (
  sql: Sql,
  assets: ReadonlySet<string>,
  logger: Pick<Logger, "warn">,
): Promise<void> => {
  const open = await sql<{ asset: string; requests: number }[]>`
    select asset, count(*)::int4 as requests from ta_requests
    where status in ('QUEUED', 'PENDING') group by asset`;
  for (const { asset, requests } of open) {
    if (assets.has(asset)) continue;
    const holding = await sql<{ requestId: string; resource: string; txId: string | null }[]>`
      select r.id as "requestId", p.resource, r.tx_id as "txId"
      from ta_reservations p join ta_requests r on r.id = p.request_id
      where r.asset = ${asset} order by p.claimed_at limit ${MOST_LISTED}`;
    logger.warn(
      { asset, requests, holding },
      `transfer agent: ${requests} requests for ${asset} cannot go on, because ASSETS_FILE of this ` +
        "process does not name it: put it back until they are done. What pays for those under way " +
        '(`holding`) is held until their transactions are settled: see "An asset that is taken out" in ' +
        "docs/explanation/transfer-agent-processing.md",
    );
  }
};
