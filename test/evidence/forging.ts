/**
 * The forger's kit: an honest audit pack, edited as an operator would who lies and holds the deployment's key.
 * Unless an edit is of bytes alone, everything is hashed anew, and manifest and roots are signed anew.
 */
import { canonicalJson } from "../../client/canonical-json.ts";
import { rootOf } from "../../client/sum-tree.ts";
import type { PackManifest } from "../../client/verify-audit-pack.ts";
import { type PackInMemory, signedAnew } from "./packs.ts";

type Key = NonNullable<Parameters<typeof signedAnew>[2]>;

/**
 * Who refuses it: `all`, the command line, client and page alike, in the same words; `command`, the command
 * line alone, and neither client nor page calls it consistent.
 */
export type FoundBy = "all" | "command";

/** What is made of a pack. @param key the deployment's */
export type Forgery = {
  readonly name: string;
  readonly foundBy: FoundBy;
  readonly forge: (pack: PackInMemory, key: Key) => PackInMemory | Promise<PackInMemory>;
};

const encoded = (text: string) => Uint8Array.from(Buffer.from(text));
export const textIn = (pack: PackInMemory, path: string): string =>
  Buffer.from(pack.get(path) ?? []).toString();
export const manifestIn = (pack: PackInMemory): PackManifest =>
  JSON.parse(textIn(pack, "manifest.json"));
export const withText = (pack: PackInMemory, path: string, text: string): PackInMemory =>
  new Map(pack).set(path, encoded(text));

/** @throws Error where the pack has nothing of that kind: the edit would show nothing */
export const changed = (pack: PackInMemory, path: string, edit: (text: string) => string) => {
  const text = textIn(pack, path);
  const after = edit(text);
  if (after === text) throw new Error(`nothing of ${path} was changed`);
  return withText(pack, path, after);
};

export const bytes = (path: string): Forgery => ({
  name: `a bit of ${path} is another`,
  foundBy: "all",
  forge: (pack) => {
    const own = pack.get(path) ?? new Uint8Array();
    const at = Math.floor(own.length / 2);
    return new Map(pack).set(path, own.with(at, (own[at] ?? 0) ^ 1));
  },
});

export const manifest = (
  name: string,
  edit: (manifest: PackManifest) => object,
  foundBy: FoundBy = "all",
): Forgery => ({
  name: `the manifest says: ${name}`,
  foundBy,
  forge: (pack, key) => signedAnew(pack, edit, key),
});

export const text = (
  path: string,
  name: string,
  edit: (text: string) => string,
  foundBy: FoundBy = "all",
): Forgery => ({
  name: `${path}: ${name}`,
  foundBy,
  forge: (pack, key) => signedAnew(changed(pack, path, edit), undefined, key),
});

export const excerpts = (
  name: string,
  edit: (pack: PackInMemory, paths: readonly string[]) => PackInMemory,
  foundBy: FoundBy = "command",
): Forgery => ({
  name: `excerpts: ${name}`,
  foundBy,
  forge: (pack, key) => {
    const paths = [...pack.keys()].filter((path) => path.startsWith("checkpoints/"));
    const number = (path: string) => Number(/\d+/.exec(path)?.[0]);
    return signedAnew(
      edit(
        new Map(pack),
        paths.sort((a, b) => number(a) - number(b)),
      ),
      undefined,
      key,
    );
  },
});

export type Line = { readonly [member: string]: string | boolean | null };
export const lines = (
  path: string,
  name: string,
  edit: (lines: readonly Line[]) => readonly Line[],
  foundBy: FoundBy = "all",
) =>
  text(
    path,
    name,
    (before) => {
      const own: Line[] = before
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      return edit(own)
        .map((line) => `${canonicalJson(line)}\n`)
        .join("");
    },
    foundBy,
  );

type Row = {
  holderId: string | null;
  wallets: { address: string; balance: string; groupId: string | null; isFrozen: boolean }[];
  balance: string;
  tokens: string;
  granted: string;
  unlocked: string;
  locked: string;
  share: string;
};
type Table = {
  coinType: string;
  checkpoint: string;
  totalSupply: string | null;
  issued: string;
  holderCount: number;
  root: string;
  decimals: number | null;
  rows: Row[];
};

const shareOf = (balance: bigint, total: bigint) => {
  const digits = `${total === 0n ? 0n : (balance * 10n ** 12n) / total}`.padStart(13, "0");
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
};

/** A register that was changed, with everything that follows from it: sums, shares, supply, root and report. */
export const registers = (
  name: string,
  edit: (table: Table, other: "first" | "last") => void,
  foundBy: FoundBy = "command",
  names: readonly ("first" | "last")[] = ["first", "last"],
): Forgery => ({
  name: `${names.join(" and ")} register, all made anew: ${name}`,
  foundBy,
  forge: async (before, key) => {
    let pack = before;
    const roots = { ...manifestIn(pack).roots };
    let report = textIn(pack, "report.md");
    for (const which of names) {
      const path = `${which}/cap-table.json`;
      const table: Table = JSON.parse(textIn(pack, path));
      const was = JSON.stringify(table);
      const { root, issued } = table;
      edit(table, which);
      if (JSON.stringify(table) === was) throw new Error(`nothing of ${path} was changed`);
      const total = table.rows.reduce((sum, row) => sum + BigInt(row.balance), 0n);
      if (table.totalSupply === issued) table.totalSupply = `${total}`;
      table.issued = `${total}`;
      table.holderCount = table.rows.length;
      for (const row of table.rows) row.share = shareOf(BigInt(row.balance), total);
      table.root = (await rootOf(table)).root;
      roots[which] = { ...roots[which], root: table.root, total: table.issued };
      report = report.replaceAll(root, table.root);
      const { rows, ...head } = table;
      const said = `${JSON.stringify(head).slice(0, -1)},"rows":[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]}\n`;
      pack = withText(pack, path, said);
    }
    return signedAnew(withText(pack, "report.md", report), () => ({ roots }), key);
  },
});

export const holdings = (edit: (row: Row) => void) => (table: Table) => {
  const [row] = table.rows;
  if (row !== undefined) edit(row);
};
