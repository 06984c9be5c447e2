/** The fields that Open Cap Format 1.2.0 requires, and those that it allows besides; no others. */
const list = (names: string) => names.split(" ").filter((name) => name !== "");

export type Fields = readonly [required: string[], optional: string[]];
const fields = (required: string, optional = ""): Fields => [list(required), list(optional)];

/** By type of object or file. */
export const FIELDS: Readonly<Record<string, Fields>> = {
  ISSUER: fields(
    "country_of_formation formation_date id legal_name object_type",
    "address comments country_subdivision_of_formation dba email initial_shares_authorized phone tax_ids",
  ),
  STOCK_CLASS: fields(
    "class_type default_id_prefix id initial_shares_authorized name object_type seniority votes_per_share",
    "board_approval_date comments conversion_rights liquidation_preference_multiple par_value participation_cap_multiple price_per_share stockholder_approval_date",
  ),
  STOCK_LEGEND_TEMPLATE: fields("id name object_type text", "comments"),
  STAKEHOLDER: fields(
    "id name object_type stakeholder_type",
    "addresses comments contact_info current_relationship issuer_assigned_id primary_contact tax_ids",
  ),
  VESTING_TERMS: fields(
    "allocation_type description id name object_type vesting_conditions",
    "comments",
  ),
  TX_STOCK_ISSUANCE: fields(
    "custom_id date id object_type quantity security_id security_law_exemptions share_price stakeholder_id stock_class_id stock_legend_ids",
    "board_approval_date comments consideration_text cost_basis issuance_type share_numbers_issued stock_plan_id stockholder_approval_date vesting_terms_id vestings",
  ),
  TX_STOCK_TRANSFER: fields(
    "date id object_type quantity resulting_security_ids security_id",
    "balance_security_id comments consideration_text",
  ),
  TX_STOCK_REISSUANCE: fields(
    "date id object_type resulting_security_ids security_id",
    "comments reason_text split_transaction_id",
  ),
  TX_STOCK_CANCELLATION: fields(
    "date id object_type quantity reason_text security_id",
    "balance_security_id comments",
  ),
  TX_VESTING_START: fields("date id object_type security_id vesting_condition_id", "comments"),
  OCF_MANIFEST_FILE: fields(
    "as_of file_type generated_at issuer ocf_version stakeholders_files stock_classes_files stock_legend_templates_files stock_plans_files transactions_files valuations_files vesting_terms_files",
    "comments documents_files financings_files",
  ),
  OCF_STAKEHOLDERS_FILE: fields("file_type items"),
  OCF_STOCK_CLASSES_FILE: fields("file_type items"),
  OCF_STOCK_LEGEND_TEMPLATES_FILE: fields("file_type items"),
  OCF_TRANSACTIONS_FILE: fields("file_type items"),
  OCF_VESTING_TERMS_FILE: fields("file_type items"),
};

/** Of what stands inside an object, by the member that has it (or a list of it). */
const INSIDE: Readonly<Record<string, Fields>> = {
  name: fields("legal_name", "first_name last_name"),
  share_price: fields("amount currency"),
  vestings: fields("amount date"),
  security_law_exemptions: fields("description jurisdiction"),
  vesting_conditions: fields("id next_condition_ids trigger", "description portion quantity"),
  portion: fields("denominator numerator", "remainder"),
  period: fields("length occurrences type", "cliff_installment"),
};

/** Fields of what is in a member. */
export const insideOf = (member: string): Fields => {
  const found = INSIDE[member];
  if (found === undefined) throw new Error(`${member} has no fields`);
  return found;
};

const TRIGGERS: Readonly<Record<string, Fields>> = {
  VESTING_START_DATE: fields("type"),
  VESTING_SCHEDULE_RELATIVE: fields("period relative_to_condition_id type"),
};

/** What members look like, wherever they stand. */
const LOOKS: Readonly<Record<string, RegExp>> = {
  allocation_type:
    /^(CUMULATIVE_ROUND(ING|_DOWN)|(FRONT|BACK)_LOADED(_TO_SINGLE_TRANCHE)?|FRACTIONAL)$/,
  amount: /^[+-]?[0-9]+(\.[0-9]{1,10})?$/,
  class_type: /^(COMMON|PREFERRED)$/,
  country_of_formation: /^[A-Z]{2}$/,
  currency: /^[A-Z]{3}$/,
  date: /^\d{4}-\d\d-\d\d$/,
  denominator: /^[+-]?[0-9]+(\.[0-9]{1,10})?$/,
  formation_date: /^\d{4}-\d\d-\d\d$/,
  md5: /^[a-fA-F0-9]{32}$/,
  numerator: /^[+-]?[0-9]+(\.[0-9]{1,10})?$/,
  quantity: /^[+-]?[0-9]+(\.[0-9]{1,10})?$/,
  seniority: /^[+-]?[0-9]+(\.[0-9]{1,10})?$/,
  stakeholder_type: /^(INDIVIDUAL|INSTITUTION)$/,
  votes_per_share: /^[+-]?[0-9]+(\.[0-9]{1,10})?$/,
};

type Members = Readonly<Record<string, unknown>> & { readonly type?: unknown };

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// Thrown rather than expected: a package has many thousands of objects.
const fail = (what: string, value: unknown): never => {
  throw new Error(`${what} in ${JSON.stringify(value)}`);
};

const holdTo = ([required, optional]: Fields, value: Members): void => {
  const names = Object.keys(value);
  for (const name of required) if (!names.includes(name)) fail(`no ${name}`, value);
  for (const name of names) {
    if (!required.includes(name) && !optional.includes(name)) fail(`unknown ${name}`, value);
  }
};

/** Fails unless an object, and all that stands inside it, has the fields and values of its type. */
export const holdToPage = (type: string, value: Members): void => {
  const known = FIELDS[type];
  if (known === undefined) throw new Error(`no type ${type}`);
  holdTo(known, value);
  holdInside(value);
};

const holdInside = (value: Members): void => {
  for (const [name, member] of Object.entries(value)) {
    const looks = LOOKS[name];
    if (looks !== undefined && !(typeof member === "string" && looks.test(member))) {
      fail(`${name} is not as it should look`, value);
    }
    if (name.endsWith("_ids") && Array.isArray(member) && new Set(member).size < member.length) {
      fail(`${name} has one twice`, value);
    }
    for (const one of Array.isArray(member) ? member : [member]) {
      if (!isObject(one) || name === "items" || name === "issuer") continue;
      const { type } = one;
      const inside =
        name === "trigger"
          ? (TRIGGERS[String(type)] ?? insideOf(`${name} ${type}`))
          : name.endsWith("_files")
            ? fields("filepath md5")
            : insideOf(name);
      holdTo(inside, one);
      holdInside(one);
    }
  }
};
