/** What the service tells every page before anybody signed in. */
import { createContext, useContext } from "react";
import { askPath } from "./ask.ts";
import { reading } from "./read.ts";

export type PageSettings = {
  readonly version: string;
  /** Id of the chain; null until a checkpoint was read. */
  readonly chain: string | null;
  readonly network: string | null;
  /** Where things of the ledger are shown in public, with `{digest}` and the like for the thing. */
  readonly explorer: Explorer;
  /** Null on any ledger but the demo's. */
  readonly demo: { readonly tour: boolean } | null;
};

export type Explorer = {
  readonly transaction: string | null;
  readonly account: string | null;
  readonly object: string | null;
  readonly checkpoint: string | null;
};

const NO_EXPLORER: Explorer = { transaction: null, account: null, object: null, checkpoint: null };

const read = reading("settings", (it) => ({
  version: it.at("version").text(),
  chain: it.at("chain").maybe((chain) => chain.text()),
  network: it.at("network").maybe((network) => network.text()),
  explorer:
    it.at("explorer").maybe((explorer) => ({
      transaction: explorer.at("transaction").maybe((template) => template.text()),
      account: explorer.at("account").maybe((template) => template.text()),
      object: explorer.at("object").maybe((template) => template.text()),
      checkpoint: explorer.at("checkpoint").maybe((template) => template.text()),
    })) ?? NO_EXPLORER,
  demo: it.at("demo").maybe((demo) => ({ tour: demo.at("tour").flag() })),
}));

/** @throws AskError when the service does not answer */
export const loadSettings = (): Promise<PageSettings> => askPath("/page/settings", read);

export const SettingsContext = createContext<PageSettings | null>(null);

export const useSettings = (): PageSettings => {
  const settings = useContext(SettingsContext);
  if (settings === null) throw new Error("used outside of the page");
  return settings;
};
