/**
 * The objects of Open Cap Format 1.2.0 that are written here: every required field, and the
 * optional ones used. Unknown fields and other kinds of values are refused.
 */
import { z } from "zod";
import type { Remedy } from "../../waiting/remedy.ts";

/** The register cannot be written as Open Cap Format; nothing was written. The message says why. Stop. */
export class OcfError extends Error {
  override readonly name = "OcfError";
  readonly remedy: Remedy = "stop";
}

/** @throws OcfError (stop) */
export const refuse = (why: string): never => {
  throw new OcfError(`not Open Cap Format: ${why}`);
};

/** A decimal text with at most ten decimals. */
const numeric = z
  .string()
  .regex(/^[+-]?[0-9]+(\.[0-9]{1,10})?$/, "must be a decimal number as text");
const amount = numeric.regex(/^\+?[0-9.]*[1-9][0-9.]*$/, "must be more than 0");
const date = z.iso.date();
const id = z.string().min(1);
const ids = z.array(id).refine((all) => new Set(all).size === all.length, "must differ");
const comments = z.array(z.string()).optional();
const monetary = z.strictObject({ amount: numeric, currency: z.string().regex(/^[A-Z]{3}$/) });

export const issuerForm = z.strictObject({
  object_type: z.literal("ISSUER"),
  id,
  legal_name: z.string().min(1),
  formation_date: date,
  country_of_formation: z.string().regex(/^[A-Z]{2}$/),
  comments,
});

export const stockClassForm = z.strictObject({
  object_type: z.literal("STOCK_CLASS"),
  id,
  name: z.string().min(1),
  class_type: z.enum(["COMMON", "PREFERRED"]),
  default_id_prefix: z.string(),
  initial_shares_authorized: z.union([z.enum(["NOT APPLICABLE", "UNLIMITED"]), numeric]),
  votes_per_share: numeric,
  seniority: numeric,
  comments,
});

export const stockLegendTemplateForm = z.strictObject({
  object_type: z.literal("STOCK_LEGEND_TEMPLATE"),
  id,
  name: z.string().min(1),
  text: z.string().min(1),
  comments,
});

export const stakeholderForm = z.strictObject({
  object_type: z.literal("STAKEHOLDER"),
  id,
  name: z.strictObject({ legal_name: z.string().min(1) }),
  stakeholder_type: z.enum(["INDIVIDUAL", "INSTITUTION"]),
  issuer_assigned_id: z.string().optional(),
  comments,
});

const periodInDays = z.strictObject({
  type: z.literal("DAYS"),
  length: z.int().min(0),
  occurrences: z.int().min(1),
});

const vestingCondition = z
  .strictObject({
    id,
    description: z.string().optional(),
    portion: z.strictObject({ numerator: numeric, denominator: amount }).optional(),
    quantity: numeric.optional(),
    trigger: z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("VESTING_START_DATE") }),
      z.strictObject({
        type: z.literal("VESTING_SCHEDULE_RELATIVE"),
        period: periodInDays,
        relative_to_condition_id: id,
      }),
    ]),
    next_condition_ids: ids,
  })
  .refine(({ portion, quantity }) => (portion === undefined) !== (quantity === undefined), {
    error: "must have a portion or a quantity",
  });

export const vestingTermsForm = z.strictObject({
  object_type: z.literal("VESTING_TERMS"),
  id,
  name: z.string(),
  description: z.string(),
  allocation_type: z.enum([
    "CUMULATIVE_ROUNDING",
    "CUMULATIVE_ROUND_DOWN",
    "FRONT_LOADED",
    "BACK_LOADED",
    "FRONT_LOADED_TO_SINGLE_TRANCHE",
    "BACK_LOADED_TO_SINGLE_TRANCHE",
    "FRACTIONAL",
  ]),
  vesting_conditions: z.array(vestingCondition).min(1),
  comments,
});

const ofSecurity = { id, date, security_id: id, comments };

export const stockIssuanceForm = z.strictObject({
  object_type: z.literal("TX_STOCK_ISSUANCE"),
  ...ofSecurity,
  custom_id: id,
  stakeholder_id: id,
  stock_class_id: id,
  quantity: amount,
  share_price: monetary,
  stock_legend_ids: ids,
  security_law_exemptions: z.array(
    z.strictObject({ description: z.string(), jurisdiction: z.string() }),
  ),
  vesting_terms_id: id.optional(),
  vestings: z.array(z.strictObject({ date, amount })).min(1).optional(),
});

export const stockTransferForm = z.strictObject({
  object_type: z.literal("TX_STOCK_TRANSFER"),
  ...ofSecurity,
  quantity: amount,
  resulting_security_ids: ids.min(1),
  balance_security_id: id.optional(),
});

/** The new security has the same quantity and holder; there is no balance. */
export const stockReissuanceForm = z.strictObject({
  object_type: z.literal("TX_STOCK_REISSUANCE"),
  ...ofSecurity,
  resulting_security_ids: ids.min(1),
  reason_text: z.string().min(1),
});

export const stockCancellationForm = z.strictObject({
  object_type: z.literal("TX_STOCK_CANCELLATION"),
  ...ofSecurity,
  quantity: amount,
  reason_text: z.string().min(1),
  balance_security_id: id.optional(),
});

export const vestingStartForm = z.strictObject({
  object_type: z.literal("TX_VESTING_START"),
  ...ofSecurity,
  vesting_condition_id: id,
});

export const transactionForm = z.discriminatedUnion("object_type", [
  stockIssuanceForm,
  stockTransferForm,
  stockReissuanceForm,
  stockCancellationForm,
  vestingStartForm,
]);

const file = z.strictObject({
  filepath: z.string().regex(/^\.\/[A-Za-z]+(-\d+)?\.ocf\.json$/),
  md5: z.string().regex(/^[0-9a-f]{32}$/),
});

export const manifestForm = z.strictObject({
  file_type: z.literal("OCF_MANIFEST_FILE"),
  ocf_version: z.literal("1.2.0"),
  issuer: issuerForm,
  as_of: date,
  generated_at: z.iso.datetime(),
  stock_plans_files: z.array(file),
  stock_legend_templates_files: z.array(file),
  stock_classes_files: z.array(file),
  vesting_terms_files: z.array(file),
  valuations_files: z.array(file),
  transactions_files: z.array(file),
  stakeholders_files: z.array(file),
  comments,
});

export type Issuer = z.infer<typeof issuerForm>;
export type StockClass = z.infer<typeof stockClassForm>;
export type StockLegendTemplate = z.infer<typeof stockLegendTemplateForm>;
export type Stakeholder = z.infer<typeof stakeholderForm>;
export type VestingTerms = z.infer<typeof vestingTermsForm>;
export type StockIssuance = z.infer<typeof stockIssuanceForm>;
export type Transaction = z.infer<typeof transactionForm>;
export type Manifest = z.infer<typeof manifestForm>;
/** A file of the package, as the manifest names it. */
export type PackagedFile = z.infer<typeof file>;

/** Decimals that the format allows. */
export const OCF_DIGITS = 10;

/** Smallest units as a decimal number without trailing zeros. */
export const numericOf = (amount: bigint, digits: number): string => {
  if (digits === 0) return amount.toString();
  const text = amount.toString().padStart(digits + 1, "0");
  const fraction = text.slice(-digits).replace(/0+$/, "");
  return `${text.slice(0, -digits)}${fraction === "" ? "" : `.${fraction}`}`;
};

/** A decimal number in units of the tenth decimal. */
export const unitsOf = (numeric: string): bigint => {
  const [whole = "", fraction = ""] = numeric.split(".");
  return BigInt(whole + fraction.padEnd(OCF_DIGITS, "0"));
};
