/** The sources that LEDGER_SOURCE lists, each with the headers that LEDGER_HEADERS has for it. */
import { ConfigError } from "./config-error.ts";

/** One source of the ledger. */
export type LedgerSource = {
  readonly setting: string;
  /** Sent with every request to it; may hold a provider's key: never logged. */
  readonly headers: Readonly<Record<string, string>>;
};

/** A header of sources: of those of one host, or of the only one. */
export type LedgerHeader = {
  readonly host: string | undefined;
  readonly name: string;
  readonly value: string;
};

/** A space before one of these parts two sources; one inside the name of a folder does not. */
const BETWEEN = /\s+(?=demo:|dir:|https?:\/\/|grpc\+https?:\/\/)/;

/** The sources that a text lists, separated by spaces; whether they are any is left to others. */
export const splitSources = (text: string): readonly string[] => text.trim().split(BETWEEN);

/**
 * Gives each source its headers. A key is for one provider: where several sources are listed, a header says of
 * which host it is, and goes to no other.
 * @throws ConfigError
 */
export const ledgerSourcesOf = (
  settings: readonly string[],
  headers: readonly LedgerHeader[],
): readonly LedgerSource[] => {
  for (const { host, name } of headers) {
    if (host === undefined && settings.length > 1) {
      throw new ConfigError(
        `LEDGER_HEADERS: ${name} does not say of which source it is, and LEDGER_SOURCE lists ${settings.length}: write the host in front, as in "fullnode.example ${name}: …"`,
      );
    }
    if (host !== undefined && !settings.some((setting) => isOf(setting, host))) {
      throw new ConfigError(
        `LEDGER_HEADERS: no source of LEDGER_SOURCE is on ${host}, of which it has a header`,
      );
    }
  }
  return settings.map((setting) => ({
    setting,
    headers: Object.fromEntries(
      headers
        .filter(({ host }) => host === undefined || isOf(setting, host))
        .map(({ name, value }) => [name, value]),
    ),
  }));
};

/** Whether a source is on a host, which may be given with its port. */
const isOf = (setting: string, host: string): boolean => {
  if (!URL.canParse(setting)) return false;
  const url = new URL(setting);
  return url.hostname.toLowerCase() === host || url.host.toLowerCase() === host;
};
