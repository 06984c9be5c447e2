/** What the service tells every page before anybody signed in. */
import { createContext, useContext } from "react";
import { askPath } from "./ask.ts";
import { type Reader, reading, text } from "./read.ts";

const explorer = (it: Reader) => ({
  transaction: it.at("transaction").maybe(text),
  account: it.at("account").maybe(text),
  object: it.at("object").maybe(text),
  checkpoint: it.at("checkpoint").maybe(text),
});
export type Explorer = ReturnType<typeof explorer>;

const NO_EXPLORER: Explorer = { transaction: null, account: null, object: null, checkpoint: null };

const read = reading("settings", (it) => ({
  version: it.at("version").text(),
  network: it.at("network").maybe(text),
  /** Where things of the ledger are shown in public, with `{digest}` and the like for the thing. */
  explorer: it.at("explorer").maybe(explorer) ?? NO_EXPLORER,
  /** Null on any ledger but the demo's. */
  demo: it.at("demo").maybe((demo) => ({ tour: demo.at("tour").flag() })),
}));
export type PageSettings = ReturnType<typeof read>;

/** @throws AskError when the service does not answer */
export const loadSettings = (): Promise<PageSettings> => askPath("/page/settings", read);

export const SettingsContext = createContext<PageSettings | null>(null);

export const useSettings = (): PageSettings => {
  const settings = useContext(SettingsContext);
  if (settings === null) throw new Error("used outside of the page");
  return settings;
};
