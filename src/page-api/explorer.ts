/** The chain's network, and the pages of its explorer that the page links to. */

/** URLs with their placeholders, on the demo ledger a path of this page; null without a page. */
type ExplorerPages = {
  /** With `{digest}`. */
  readonly transaction: string | null;
  /** With `{address}`. */
  readonly account: string | null;
  /** With `{objectId}`. */
  readonly object: string | null;
  /** With `{checkpoint}`. */
  readonly checkpoint: string | null;
};

/** As configured: a URL, `none`, or undefined. */
export type ExplorerSettings = Readonly<Partial<Record<keyof ExplorerPages, string | undefined>>>;

export type Network = "mainnet" | "testnet" | "devnet" | "demo";

/** Chain ids are digests of the first checkpoint. */
const CHAINS: Readonly<Record<string, Network>> = {
  "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S": "mainnet",
  "69WiPg3DAQiwdxfncX6wYQ2siKwAe6L9BZthQea3JNMD": "testnet",
};

/** A devnet restarts with a new chain id every few weeks: recognise it by its host. */
const DEVNET = /\/\/[^/]*\bdevnet\.sui\.io\b/;

/**
 * @param chain digest of the first checkpoint; null while unknown
 * @param ledgerSource as configured
 */
export const networkOf = (chain: string | null, ledgerSource: string): Network | null => {
  if (ledgerSource.startsWith("demo:")) return "demo";
  const known = chain === null ? undefined : CHAINS[chain];
  return known ?? (DEVNET.test(ledgerSource) ? "devnet" : null);
};

const usualPages = (network: Network | null): Partial<ExplorerPages> => {
  // The demo's chain has no explorer but this page.
  if (network === "demo") return { transaction: "/transaction/{digest}" };
  if (network === null) return {};
  const site = `https://suiscan.xyz/${network}`;
  return {
    transaction: `${site}/tx/{digest}`,
    account: `${site}/account/{address}`,
    object: `${site}/object/{objectId}`,
    checkpoint: `${site}/checkpoint/{checkpoint}`,
  };
};

/** Null without any page. */
export const explorerPages = (
  network: Network | null,
  settings: ExplorerSettings,
): ExplorerPages | null => {
  const usual = usualPages(network);
  const page = (name: keyof ExplorerPages): string | null => {
    const set = settings[name] ?? usual[name] ?? null;
    return set === "none" ? null : set;
  };
  const pages = {
    transaction: page("transaction"),
    account: page("account"),
    object: page("object"),
    checkpoint: page("checkpoint"),
  };
  return Object.values(pages).every((one) => one === null) ? null : pages;
};
