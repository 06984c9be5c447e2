/** A package of Open Cap Format, read and checked apart from the code that writes it. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { z } from "zod";
import { FIELDS } from "./ocf-page.ts";

const object = z.looseObject({
  object_type: z.string(),
  id: z.string(),
  date: z.iso.date().optional(),
  comments: z.array(z.string()).optional(),
  security_id: z.string().optional(),
  stakeholder_id: z.string().optional(),
  stock_class_id: z.string().optional(),
  vesting_terms_id: z.string().optional(),
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
  transactions_files: fileList,
  vesting_terms_files: fileList,
});

const holdToPage = (type: string, value: object): void => {
  const [required, optional] = FIELDS[type] ?? [[], []];
  const names = Object.keys(value);
  expect(required.filter((name) => !names.includes(name))).toEqual([]);
  expect(names.filter((name) => !required.includes(name) && !optional.includes(name))).toEqual([]);
};

/** Ten digits after the point. */
const unitsOf = (text = "0"): bigint => {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(10, "0"));
};

/** What is held after the transactions, in units of the tenth digit, by stakeholder. */
const fold = (transactions: readonly OcfObject[]): Map<string, bigint> => {
  const issued = new Map<string, OcfObject>();
  for (const transaction of transactions) {
    if (transaction.object_type !== "TX_STOCK_ISSUANCE") continue;
    expect(issued.has(transaction.security_id ?? "")).toBe(false);
    issued.set(transaction.security_id ?? "", transaction);
  }
  const quantityOf = (id = "") => unitsOf(issued.get(id)?.quantity ?? "-1");
  const used = new Set<string>();
  for (const transaction of transactions) {
    const { object_type, security_id = "", balance_security_id } = transaction;
    expect(issued.has(security_id)).toBe(true);
    if (object_type === "TX_STOCK_ISSUANCE" || object_type === "TX_VESTING_START") continue;
    expect(used.has(security_id)).toBe(false);
    used.add(security_id);
    const quantity = unitsOf(transaction.quantity);
    const balance = balance_security_id === undefined ? 0n : quantityOf(balance_security_id);
    expect(quantity + balance).toBe(quantityOf(security_id));
    if (object_type === "TX_STOCK_TRANSFER") {
      const resulting = transaction.resulting_security_ids?.map(quantityOf) ?? [];
      expect(resulting.reduce((sum, one) => sum + one, 0n)).toBe(quantity);
    }
  }
  const held = new Map<string, bigint>();
  for (const [id, { stakeholder_id = "", quantity }] of issued) {
    if (used.has(id)) continue;
    held.set(stakeholder_id, (held.get(stakeholder_id) ?? 0n) + unitsOf(quantity));
  }
  return held;
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
  const terms = await items(main.vesting_terms_files);
  const stakeholders = await items(main.stakeholders_files);
  expect((await readdir(folder)).toSorted()).toEqual(named.toSorted());
  const idsOf = (objects: readonly OcfObject[]) => new Set(objects.map(({ id }) => id));
  expect(idsOf(transactions).size).toBe(transactions.length);
  expect(idsOf(stakeholders).size).toBe(stakeholders.length);
  for (const one of transactions) {
    if (one.object_type !== "TX_STOCK_ISSUANCE") continue;
    expect(idsOf(stakeholders)).toContain(one.stakeholder_id);
    expect(idsOf(classes)).toContain(one.stock_class_id);
    if (one.vesting_terms_id) expect(idsOf(terms)).toContain(one.vesting_terms_id);
    const vesting = one.vestings?.reduce((sum, { amount }) => sum + unitsOf(amount), 0n);
    if (vesting !== undefined) expect(vesting).toBe(unitsOf(one.quantity));
  }
  return { manifest: main, classes, transactions, terms, stakeholders, held: fold(transactions) };
};
