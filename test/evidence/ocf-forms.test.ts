/** The forms that every object is checked against, held to the fields of Open Cap Format 1.2.0. */
import { expect, test } from "vitest";
import type { z } from "zod";
import * as forms from "../../src/evidence/ocf/forms.ts";
import { FIELDS, type Fields, insideOf } from "./ocf-page.ts";

const FORMS: Readonly<Record<string, z.ZodObject>> = {
  ISSUER: forms.issuerForm,
  STOCK_CLASS: forms.stockClassForm,
  STOCK_LEGEND_TEMPLATE: forms.stockLegendTemplateForm,
  STAKEHOLDER: forms.stakeholderForm,
  VESTING_TERMS: forms.vestingTermsForm,
  TX_STOCK_ISSUANCE: forms.stockIssuanceForm,
  TX_STOCK_TRANSFER: forms.stockTransferForm,
  TX_STOCK_REISSUANCE: forms.stockReissuanceForm,
  TX_STOCK_CANCELLATION: forms.stockCancellationForm,
  TX_VESTING_START: forms.vestingStartForm,
  OCF_MANIFEST_FILE: forms.manifestForm,
};

const holdForm = (form: z.ZodObject, [required, optional]: Fields): void => {
  const names = Object.keys(form.shape);
  expect(required.filter((name) => !names.includes(name))).toEqual([]);
  expect(names.filter((name) => ![...required, ...optional].includes(name))).toEqual([]);
  for (const name of required) {
    expect(form.shape[name]?.safeParse(undefined).success, `${name} is required`).toBe(false);
  }
  expect(form.safeParse({ unknown: 1 }).error?.issues.map(({ code }) => code)).toContain(
    "unrecognized_keys",
  );
};

test("every form requires the members of the format and accepts no others", () => {
  for (const [type, form] of Object.entries(FORMS)) holdForm(form, FIELDS[type] ?? [[], []]);
  const transactions = forms.transactionForm.options;
  expect(transactions).toHaveLength(Object.keys(FORMS).filter((type) => /^TX/.test(type)).length);
  const { shape } = forms.stockIssuanceForm;
  holdForm(shape.share_price, insideOf("share_price"));
  holdForm(shape.vestings.unwrap().element, insideOf("vestings"));
  holdForm(shape.security_law_exemptions.element, insideOf("security_law_exemptions"));
  holdForm(forms.stakeholderForm.shape.name, insideOf("name"));
  const condition = forms.vestingTermsForm.shape.vesting_conditions.element;
  holdForm(condition, insideOf("vesting_conditions"));
  holdForm(condition.shape.portion.unwrap(), insideOf("portion"));
});

test("numbers, dates, ids and hashes have the format's own spelling", () => {
  const { shape } = forms.stockIssuanceForm;
  const isTaken = (form: z.ZodType, value: unknown) => form.safeParse(value).success;
  for (const taken of ["1", "0.0000000001", "+12.5"])
    expect(isTaken(shape.quantity, taken)).toBe(true);
  for (const refused of ["0", "1.", ".5", "1e3", "0.00000000001", "-1", 1]) {
    expect(isTaken(shape.quantity, refused), `${refused}`).toBe(false);
  }
  expect(isTaken(shape.date, "2026-02-28")).toBe(true);
  for (const refused of ["2026-02-30", "2026-2-28", "2026-02-28T00:00:00Z"]) {
    expect(isTaken(shape.date, refused)).toBe(false);
  }
  expect(isTaken(shape.stock_legend_ids, ["a", "a"])).toBe(false);
  expect(isTaken(forms.stockTransferForm.shape.resulting_security_ids, [])).toBe(false);
  expect(isTaken(forms.issuerForm.shape.country_of_formation, "ch")).toBe(false);
  const { element } = forms.manifestForm.shape.transactions_files;
  expect(isTaken(element, { filepath: "./Transactions.ocf.json", md5: "0".repeat(31) })).toBe(
    false,
  );
});
