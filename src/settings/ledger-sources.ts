/** Sources in LEDGER_SOURCE with their LEDGER_HEADERS. */
import { ConfigError } from "./config-error.ts";

export type LedgerSource = {
  readonly setting: string;
  /** Sent with every request; may hold a provider's key: never logged. */
  readonly headers: Readonly<Record<string, string>>;
};

/** For sources on one host, or for a single source. */
export type LedgerHeader = {
  readonly host: string | undefined;
  readonly name: string;
  readonly value: string;
};

/** A space separates sources only before one of these; folders' names may contain spaces. */
const BETWEEN = /\s+(?=demo:|dir:|archive:|https?:\/\/|grpc\+https?:\/\/)/;

export const splitSources = (text: string): readonly string[] => text.trim().split(BETWEEN);

/**
 * Assigns headers to sources. Keys belong to one provider: with several sources a header names its
 * host, and goes to no other.
 * @param nodes of INDEX_SOURCE and WITNESS_SOURCE: a header without a host never goes there
 * @throws ConfigError
 */
export const ledgerSourcesOf = (
  settings: readonly string[],
  headers: readonly LedgerHeader[],
  nodes: readonly string[] = [],
): readonly LedgerSource[] => {
  for (const { host, name } of headers) {
    if (host === undefined && settings.length > 1) {
      throw new ConfigError(
        `LEDGER_HEADERS: ${name} does not name its source, and LEDGER_SOURCE lists ${settings.length}: write the host in front, as in "fullnode.example ${name}: …"`,
      );
    }
    if (host !== undefined && ![...settings, ...nodes].some((setting) => isOf(setting, host))) {
      throw new ConfigError(
        `LEDGER_HEADERS: has a header for ${host}, but LEDGER_SOURCE${nodes.length > 0 ? ", INDEX_SOURCE or WITNESS_SOURCE" : ""} has no source there`,
      );
    }
  }
  return settings.map((setting) => ({
    setting,
    headers: headersOf(headers, ({ host }) => host === undefined || isOf(setting, host)),
  }));
};

/** A node beside LEDGER_SOURCE, with the headers that name its host. */
export const nodeBeside = (setting: string, headers: readonly LedgerHeader[]): LedgerSource => ({
  setting,
  headers: headersOf(headers, ({ host }) => host !== undefined && isOf(setting, host)),
});

const headersOf = (
  headers: readonly LedgerHeader[],
  isFor: (header: LedgerHeader) => boolean,
): Readonly<Record<string, string>> =>
  Object.fromEntries(headers.filter(isFor).map(({ name, value }) => [name, value]));

/** @param host optionally with its port */
const isOf = (setting: string, host: string): boolean => {
  if (!URL.canParse(setting)) return false;
  const url = new URL(setting);
  return url.hostname.toLowerCase() === host || url.host.toLowerCase() === host;
};
