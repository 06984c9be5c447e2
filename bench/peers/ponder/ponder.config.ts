import { createConfig } from "ponder";
import { erc20Abi } from "viem";

/** The bench provides the RPC, the token and the last block. */
const { PEER_RPC = "", PEER_TOKEN = "0x", PEER_LAST_BLOCK = "0", DATABASE_URL = "" } = process.env;

export default createConfig({
  database: { kind: "postgres", connectionString: DATABASE_URL },
  chains: { local: { id: 31_337, rpc: PEER_RPC, disableCache: true } },
  contracts: {
    Token: {
      chain: "local",
      abi: erc20Abi,
      address: PEER_TOKEN as `0x${string}`,
      startBlock: 0,
      endBlock: Number(PEER_LAST_BLOCK),
    },
  },
});
