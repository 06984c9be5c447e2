/** Settings that are mistyped, left out or wrong are told by their names, and keys in them never shown. */
import { expect, test } from "vitest";
import { ConfigError } from "../../src/settings/config-error.ts";
import { distance, ENV_FILE, ENVIRONMENT, mistyped } from "../../src/settings/names.ts";
import { checkLedgerNamed, readConfig } from "../../src/settings/read-config.ts";
import { shownUrl } from "../../src/settings/shown-url.ts";

const SETTINGS = ["PORT", "HOST", "DATA_DIR", "LEDGER_SOURCE", "TA_SUI_KEY", "TA_EVM_KEY"];

test("edits are letters inserted, left out, changed or swapped", () => {
  expect(distance("LEDGER_SOURCE", "LEDGER_SOURCE", 2)).toBe(0);
  expect(distance("LEDGER_SOURC", "LEDGER_SOURCE", 2)).toBe(1);
  expect(distance("LEDGERR_SOURCE", "LEDGER_SOURCE", 2)).toBe(1);
  expect(distance("LEDGER_SUORCE", "LEDGER_SOURCE", 2)).toBe(1);
  expect(distance("LEDGER-SUORCE", "LEDGER_SOURCE", 2)).toBe(2);
  expect(distance("LODGER-SUORCE", "LEDGER_SOURCE", 2)).toBe(3);
  expect(distance("", "LEDGER_SOURCE", 2)).toBe(3);
});

test("a name in .env up to two edits from a setting's is reported with that setting", () => {
  for (const name of ["LEDGER_SOURC", "LEGDER_SORCE", "ledger_source", "LEDGERSOURCE"]) {
    expect(mistyped([name], SETTINGS, ENV_FILE)).toEqual([
      `${name} in .env is not a setting; correct it to LEDGER_SOURCE, or remove it`,
    ]);
  }
  expect(mistyped(["PORTS"], SETTINGS, ENV_FILE)).toHaveLength(1);
  expect(mistyped(["LEDGER_SOU", "HOME", "PGHOST", "PGPORT"], SETTINGS, ENV_FILE)).toEqual([]);
});

test("in the environment only long names are reported, at one edit", () => {
  expect(mistyped(["LEDGER_SOURC"], SETTINGS, ENVIRONMENT)).toEqual([
    "LEDGER_SOURC in the environment is not a setting; correct it to LEDGER_SOURCE, or remove it",
  ]);
  const others = ["LEDGER_SORC", "HOME", "PORTS", "HOSTS", "DATADIR", "PGHOST", "PATH"];
  expect(mistyped(others, SETTINGS, ENVIRONMENT)).toEqual([]);
});

test("a name that is a setting itself is never reported, however near to another", () => {
  expect(mistyped(SETTINGS, SETTINGS, ENV_FILE)).toEqual([]);
});

test("packages or a first checkpoint without a ledger are refused, because the demo is not intended", () => {
  const check = (environment: Record<string, string>, packagesAlone = false) =>
    checkLedgerNamed(readConfig(environment), { packagesAlone });
  const packages = { SECURITY_TOKEN_PACKAGES: "0x5" };
  const first = { FIRST_CHECKPOINT: "7" };
  expect(() => check(packages)).toThrow(ConfigError);
  expect(() => check(packages)).toThrow(/^LEDGER_SOURCE: .*SECURITY_TOKEN_PACKAGES is:/);
  expect(() => check({ ...packages, ...first })).toThrow(/PACKAGES and FIRST_CHECKPOINT are:/);
  expect(() => check(first)).toThrow(/^LEDGER_SOURCE: .*FIRST_CHECKPOINT is:/);
  // A process that only serves may be told the packages.
  check(packages, true);
  expect(() => check(first, true)).toThrow(ConfigError);
  check({});
  check({ ...packages, ...first, LEDGER_SOURCE: "demo:" });
});

test("a network address is shown by scheme and host", () => {
  const shown = {
    "https://node.example/v1/0123secret/": "https://node.example/…",
    "https://node.example:8443?key=0123secret": "https://node.example:8443/…",
    "grpc+https://user:0123secret@node.example:443": "grpc+https://node.example:443/…",
    "node.example/0123secret": "node.example/…",
    "https://node.example": "https://node.example",
    "https://node.example/": "https://node.example",
    "dir:/var/lib/checkpoints": "dir:/var/lib/checkpoints",
    "demo:": "demo:",
  };
  for (const [text, expected] of Object.entries(shown)) expect(shownUrl(text)).toBe(expected);
});

test("a wrong LEDGER_SOURCE or TA_NODE is reported without the key it may hold", () => {
  const faults = (environment: Record<string, string>) => {
    try {
      readConfig(environment);
    } catch (error) {
      return error instanceof ConfigError ? error.message : String(error);
    }
    return "";
  };
  const ledger = faults({ LEDGER_SOURCE: "htps://node.example/0123secret" });
  expect(ledger).toMatch(/^LEDGER_SOURCE: .*\(is "htps:\/\/node\.example\/…"\)$/);
  const node = faults({ TA_NODE: "https://node.example/0123secret" });
  expect(node).toMatch(/^TA_NODE: .*\(is "https:\/\/node\.example\/…"\)$/);
});
