/** What a caller submits about an investor, checked and in one form. All of it is personal data. */

/** A file as it was sent; `data` is base64 of exactly `size` bytes. */
export type InvestorFile = {
  readonly fileName: string;
  readonly contentType: string;
  readonly size: number;
  readonly data: string;
};

/** The investor object of the specification; what was absent, null or a sentinel is null. */
export type Investor = {
  readonly id: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  /** `YYYY-MM-DD`. */
  readonly dob: string;
  readonly full_address: {
    readonly street: string;
    readonly city: string;
    readonly countryCode: string;
    readonly postalCode: string;
  };
  /** Canonical for the asset's ledger. */
  readonly blockchain_wallet: string;
  /** E.164. */
  readonly primary_phone: string;
  readonly tin: string | null;
  readonly accreditation: "accredited" | "non_accredited" | "pending" | null;
  readonly ssn: string | null;
  readonly passportNumber: string | null;
  readonly identityDocumentCountry: string | null;
  readonly identityDocument: InvestorFile | null;
  readonly proofOfAddress: InvestorFile | null;
};

export type Submission = {
  readonly investor: Investor;
  readonly verifiedStatus: boolean;
  /** ISO 8601, UTC. */
  readonly verifiedAt: string;
};
