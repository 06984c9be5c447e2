/** The register rows that need letters. */
import { linesOf, type PackFiles } from "../../../client/pack-files.ts";
import { LONGEST_ROW } from "../../../client/pack-tables.ts";
import type { Outcome } from "../pack/check.ts";
import { FILES } from "../pack/form.ts";
import { rowName } from "./wallets.ts";

/** Limit of letters per run. */
const MOST_LETTERS = 500;

/** `--confirm` names no row of the register, or too many. Name holders and wallets that are in it. */
export class ConfirmError extends Error {
  override readonly name = "ConfirmError";
  readonly remedy = "stop";
  readonly exitCode = 2;
}

/**
 * The requested rows, as named in the pack's still unverified tables: check the pack, then call
 * `assertKnown`.
 * @param confirm holder ids, canonical addresses, or `all`
 * @throws ConfirmError if `all` are too many
 */
export const requestedRows = async (
  pack: PackFiles,
  confirm: readonly string[],
): Promise<ReadonlySet<string>> => {
  const rows = new Set(confirm.filter((one) => /^\d+$/.test(one)));
  const wallets = new Set(confirm.filter((one) => one.startsWith("0x")));
  const isAll = confirm.includes("all");
  if (isAll || wallets.size > 0) {
    for (const file of [FILES.lastTable, FILES.firstTable]) {
      for await (const { name, addresses } of rowsOf(pack, file)) {
        if (isAll && file === FILES.lastTable) rows.add(name);
        for (const address of addresses) if (wallets.delete(address)) rows.add(name);
        if (rows.size > MOST_LETTERS) {
          throw new ConfirmError(
            `these are more than ${MOST_LETTERS} letters: name the holders to write to`,
          );
        }
      }
    }
  }
  for (const wallet of wallets) rows.add(wallet);
  return rows;
};

/** A row's fields, in any form that the check accepts. */
async function* rowsOf(pack: PackFiles, file: string) {
  if (!pack.has(file)) return;
  for await (const line of linesOf(pack, file, LONGEST_ROW)) {
    const holder = /^\{"holderId":"(\d+)"/.exec(line)?.[1];
    const addresses = [...line.matchAll(/"address":"(0x[0-9a-f]{64})"/g)].map(
      ([, address = ""]) => address,
    );
    const name = holder ?? addresses[0];
    if (name !== undefined) yield { name, addresses };
  }
}

/**
 * @param rows requested
 * @throws ConfirmError naming a row of neither register that is not a holder with wallets
 */
export const assertKnown = (rows: Iterable<string>, { first, last }: Outcome): void => {
  const known = new Set([first, last].flatMap((register) => register.rows.map(rowName)));
  const members = [first, last].flatMap(({ memberships }) => memberships);
  for (const { aspect, value } of members) if (aspect === "holder") known.add(`${value}`);
  const holders = new Map(
    members.flatMap(({ aspect, address, value }) =>
      aspect === "holder" ? [[address, value] as const] : [],
    ),
  );
  for (const row of rows) {
    if (known.has(row)) continue;
    const holder = holders.get(row);
    throw new ConfirmError(
      holder === undefined
        ? `${row.startsWith("0x") ? "wallet" : "holder"} ${row} is in neither register of the pack`
        : `wallet ${row} holds nothing and belongs to holder ${holder}: name the holder`,
    );
  }
};
