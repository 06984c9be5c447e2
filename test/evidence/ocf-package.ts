/** A package of Open Cap Format, read and checked apart from the code that writes it. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { z } from "zod";
import { holdToPage } from "./ocf-page.ts";

const object = z.looseObject({
  object_type: z.string(),
  id: z.string(),
  date: z.iso.date().optional(),
  comments: z.array(z.string()).optional(),
  security_id: z.string().optional(),
  stakeholder_id: z.string().optional(),
  stock_class_id: z.string().optional(),
  vesting_terms_id: z.string().optional(),
  stock_legend_ids: z.array(z.string()).optional(),
  vestings: z.array(z.object({ date: z.iso.date(), amount: z.string() })).optional(),
  quantity: z
    .string()
    .regex(/^\d+(\.\d{1,10})?$/)
    .optional(),
  resulting_security_ids: z.array(z.string()).optional(),
  balance_security_id: z.string().optional(),
  name: z.unknown().optional(),
  reason_text: z.string().optional(),
});
export type OcfObject = z.infer<typeof object>;

const fileList = z.array(z.strictObject({ filepath: z.string(), md5: z.string() }));
const manifest = z.looseObject({
  file_type: z.literal("OCF_MANIFEST_FILE"),
  ocf_version: z.literal("1.2.0"),
  as_of: z.iso.date(),
  generated_at: z.iso.datetime(),
  issuer: object,
  comments: z.array(z.string()),
  stakeholders_files: fileList,
  stock_classes_files: fileList,
  stock_legend_templates_files: fileList,
  transactions_files: fileList,
  vesting_terms_files: fileList,
});

/** Ten digits after the point. */
const unitsOf = (text = "0"): bigint => {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(10, "0"));
};

const sumOf = (quantities: readonly bigint[]) => quantities.reduce((sum, one) => sum + one, 0n);

/** What is held after the transactions: units of the tenth digit, by stakeholder, wallet and legends. */
const fold = (transactions: readonly OcfObject[]): Map<string, bigint> => {
  const issued = new Map<string, OcfObject>();
  for (const transaction of transactions) {
    if (transaction.object_type !== "TX_STOCK_ISSUANCE") continue;
    expect(issued.has(transaction.security_id ?? "")).toBe(false);
    issued.set(transaction.security_id ?? "", transaction);
  }
  const quantityOf = (id = "") => unitsOf(issued.get(id)?.quantity ?? "-1");
  const used = new Set<string>();
  /** What came into each security, from all others. */
  const into = new Map<string, bigint>();
  /** Securities of reissuances, which may go from several into several. */
  const anew = new Set<string>();
  let reissued = 0n;
  let latest = "";
  for (const transaction of transactions) {
    const { object_type, security_id = "", balance_security_id, date = "" } = transaction;
    expect(date >= latest).toBe(true);
    latest = date;
    const source = issued.get(security_id);
    expect(source).toBeDefined();
    if (object_type === "TX_VESTING_START") expect(date >= (source?.date ?? "z")).toBe(true);
    for (const vesting of transaction.vestings ?? []) expect(vesting.date >= date).toBe(true);
    if (object_type === "TX_STOCK_ISSUANCE" || object_type === "TX_VESTING_START") continue;
    expect(used.has(security_id)).toBe(false);
    used.add(security_id);
    const isWhole = object_type === "TX_STOCK_REISSUANCE";
    const quantity = isWhole ? quantityOf(security_id) : unitsOf(transaction.quantity);
    const balance = balance_security_id === undefined ? 0n : quantityOf(balance_security_id);
    expect(quantity + balance).toBe(quantityOf(security_id));
    const resulting = transaction.resulting_security_ids ?? [];
    if (isWhole) {
      reissued += quantity;
      for (const id of resulting) anew.add(id);
      continue;
    }
    expect(resulting).toHaveLength(object_type === "TX_STOCK_CANCELLATION" ? 0 : 1);
    for (const id of resulting) into.set(id, (into.get(id) ?? 0n) + quantity);
  }
  for (const [id, quantity] of into) expect(quantityOf(id)).toBe(quantity);
  expect(sumOf([...anew].map(quantityOf))).toBe(reissued);
  const held = new Map<string, bigint>();
  for (const [id, issuance] of issued) {
    if (used.has(id)) continue;
    const key = heldBy(issuance);
    held.set(key, sumOf([held.get(key) ?? 0n, unitsOf(issuance.quantity)]));
  }
  return held;
};

/** Stakeholder, wallet and legends of an issuance. */
const heldBy = ({ stakeholder_id, comments, stock_legend_ids = [] }: OcfObject): string => {
  const wallet = comments?.find((comment) => /^wallet \S+$/.test(comment))?.slice("wallet ".length);
  return [stakeholder_id, wallet, ...stock_legend_ids].join(" ");
};

/** Reads a package; fails unless every file, object and reference is as the format says. */
export const readOcf = async (folder: string) => {
  const main = manifest.parse(
    JSON.parse(await readFile(join(folder, "Manifest.ocf.json"), "utf8")),
  );
  holdToPage("OCF_MANIFEST_FILE", main);
  holdToPage("ISSUER", main.issuer);
  const named = ["Manifest.ocf.json"];
  const items = async (files: z.infer<typeof fileList>): Promise<OcfObject[]> => {
    const all: OcfObject[] = [];
    for (const { filepath, md5 } of files) {
      const bytes = await readFile(join(folder, filepath));
      expect(createHash("md5").update(bytes).digest("hex")).toBe(md5);
      const file = z
        .looseObject({ file_type: z.string(), items: z.array(object).min(1) })
        .parse(JSON.parse(bytes.toString("utf8")));
      holdToPage(file.file_type, file);
      for (const item of file.items) holdToPage(item.object_type, item);
      all.push(...file.items);
      named.push(filepath.replace("./", ""));
    }
    return all;
  };
  const classes = await items(main.stock_classes_files);
  const transactions = await items(main.transactions_files);
  const legends = await items(main.stock_legend_templates_files);
  const terms = await items(main.vesting_terms_files);
  const stakeholders = await items(main.stakeholders_files);
  expect((await readdir(folder)).toSorted()).toEqual(named.toSorted());
  const idsOf = (objects: readonly OcfObject[]) => new Set(objects.map(({ id }) => id));
  expect(idsOf(transactions).size).toBe(transactions.length);
  expect(idsOf(stakeholders).size).toBe(stakeholders.length);
  expect(idsOf(legends).size).toBe(legends.length);
  for (const one of transactions) {
    if (one.object_type !== "TX_STOCK_ISSUANCE") continue;
    expect(idsOf(stakeholders)).toContain(one.stakeholder_id);
    expect(idsOf(classes)).toContain(one.stock_class_id);
    for (const id of one.stock_legend_ids ?? []) expect(idsOf(legends)).toContain(id);
    if (one.vesting_terms_id) expect(idsOf(terms)).toContain(one.vesting_terms_id);
    const vesting = one.vestings?.reduce((sum, { amount }) => sum + unitsOf(amount), 0n);
    if (vesting !== undefined) expect(vesting).toBe(unitsOf(one.quantity));
  }
  const held = fold(transactions);
  return { manifest: main, classes, transactions, legends, terms, stakeholders, held };
};
