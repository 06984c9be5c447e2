/** The fields that Open Cap Format 1.2.0 requires, and those that it allows besides; no others. */
const list = (names: string) => names.split(" ");

export const FIELDS: Readonly<Record<string, readonly [required: string[], optional: string[]]>> = {
  ISSUER: [
    list("country_of_formation formation_date id legal_name object_type"),
    list(
      "address comments country_subdivision_of_formation dba email initial_shares_authorized phone tax_ids",
    ),
  ],
  STOCK_CLASS: [
    list(
      "class_type default_id_prefix id initial_shares_authorized name object_type seniority votes_per_share",
    ),
    list(
      "board_approval_date comments conversion_rights liquidation_preference_multiple par_value participation_cap_multiple price_per_share stockholder_approval_date",
    ),
  ],
  STAKEHOLDER: [
    list("id name object_type stakeholder_type"),
    list(
      "addresses comments contact_info current_relationship issuer_assigned_id primary_contact tax_ids",
    ),
  ],
  VESTING_TERMS: [
    list("allocation_type description id name object_type vesting_conditions"),
    list("comments"),
  ],
  TX_STOCK_ISSUANCE: [
    list(
      "custom_id date id object_type quantity security_id security_law_exemptions share_price stakeholder_id stock_class_id stock_legend_ids",
    ),
    list(
      "board_approval_date comments consideration_text cost_basis issuance_type share_numbers_issued stock_plan_id stockholder_approval_date vesting_terms_id vestings",
    ),
  ],
  TX_STOCK_TRANSFER: [
    list("date id object_type quantity resulting_security_ids security_id"),
    list("balance_security_id comments consideration_text"),
  ],
  TX_STOCK_CANCELLATION: [
    list("date id object_type quantity reason_text security_id"),
    list("balance_security_id comments"),
  ],
  TX_VESTING_START: [
    list("date id object_type security_id vesting_condition_id"),
    list("comments"),
  ],
  OCF_MANIFEST_FILE: [
    list(
      "as_of file_type generated_at issuer ocf_version stakeholders_files stock_classes_files stock_legend_templates_files stock_plans_files transactions_files valuations_files vesting_terms_files",
    ),
    list("comments documents_files financings_files"),
  ],
  OCF_STAKEHOLDERS_FILE: [list("file_type items"), []],
  OCF_STOCK_CLASSES_FILE: [list("file_type items"), []],
  OCF_TRANSACTIONS_FILE: [list("file_type items"), []],
  OCF_VESTING_TERMS_FILE: [list("file_type items"), []],
};
