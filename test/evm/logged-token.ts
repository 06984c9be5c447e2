/** Tokens in the EVM log without a chain to read them from, and facts that the log loses. */
import type { EvmBlock } from "../../src/evm/contract/fact.ts";
import { networksOf } from "../../src/evm/contract/network.ts";
import { recordDescription } from "../../src/evm/log/descriptions.ts";
import { openEvmLog } from "../../src/evm/log/store.ts";
import type { TokenDescription } from "../../src/evm/rpc/contract-calls.ts";
import type { EvmToken } from "../../src/settings/assets.ts";
import { bytesOf } from "../../src/values/hex-bytes.ts";
import type { TestDatabase } from "../postgres.ts";

/** Stores what a token tells of itself; members that are not given stay as they are. */
export const describeToken = (
  { db }: Pick<TestDatabase, "db">,
  { chainId, address }: Pick<EvmToken, "chainId" | "address">,
  description: Partial<TokenDescription>,
) =>
  recordDescription(db, chainId, address, {
    name: null,
    symbol: null,
    decimals: null,
    totalSupply: null,
    contractVersion: null,
    ...description,
  });

/** Adds a token that has described itself and of which nothing was read, on a chain with this head. */
export const addToken = async (
  database: TestDatabase,
  token: EvmToken,
  description: Partial<TokenDescription>,
  head?: EvmBlock,
): Promise<void> => {
  const [network] = networksOf([token]);
  if (network === undefined) throw new Error("no token, no network");
  const log = await openEvmLog(database, network);
  await describeToken(database, token, description);
  if (head === undefined) return;
  const { chainId } = token;
  const nothing = { rollback: null, facts: [], schedules: [], blocks: [], tokens: [] };
  const none = { first: 0n, last: -1n, keepFrom: 0n, finalBlock: -1n };
  await log.append({ chainId, ...nothing, ...none, head });
};

/** Loses a token's facts after a block, as if the RPC had left them out. */
export const loseFacts = ({ sql }: TestDatabase, token: `0x${string}`, afterBlock: number) =>
  sql`delete from evm_facts where token = ${bytesOf(token)} and block > ${afterBlock}`;
