/** What is said of an audit pack, in the same words wherever it is checked. */

export const TIERS = {
  authentic: "signed by this key, over these bytes",
  consistent: "tables, movements and report follow from the facts",
  complete: "nothing of the range is missing",
};

/** What was found wrong, as a verdict: the tiers behind it were not reached. */
export const failedVerdict = ({ tier, message }) =>
  Object.fromEntries(
    Object.keys(TIERS).map((name) => [
      name,
      name === tier
        ? { holds: false, by: [message], not_shown: [] }
        : { holds: null, by: [], not_shown: ["not looked at: something is false"] },
    ]),
  );

const SAYS = new Map([
  [true, "holds"],
  [false, "is false"],
  [null, "not shown"],
]);

/** A verdict in lines. */
export const verdictLines = (verdict) =>
  Object.entries(TIERS).flatMap(([name, means]) => {
    const { holds, by, not_shown } = verdict[name];
    return [
      `${name} (${means}): ${SAYS.get(holds)}`,
      ...by.map((what) => `  by: ${what}`),
      ...not_shown.map((what) => `  not shown: ${what}`),
    ];
  });

/** Which tiers are asked for and cannot be shown. */
export const unshown = (verdict, required) =>
  required.filter((name) => verdict[name].holds === null);

/** The signature of a manifest whose files were hashed; `publicKey` is the key that is known, if one is. */
export const authenticity = ({ publicKey: own, chainId, holderNames, files }, publicKey) => ({
  holds: publicKey === undefined ? null : true,
  by: [
    publicKey === undefined
      ? `the manifest is signed with ${own}, the key that it names itself`
      : "the manifest is signed with the key given",
    "both registers' roots are signed with the same key",
    `${Object.keys(files).length} files have the SHA-256 and size of the manifest, and there is no other`,
  ],
  not_shown: [
    ...(publicKey === undefined
      ? [
          "whose key that is: anybody can sign with a key of their own. Give the issuer's key, obtained independently of the pack",
        ]
      : []),
    `the chain's id, ${chainId}: it stands as signed`,
    ...(holderNames === null
      ? []
      : ["what the issuer's file of holders' names says: only its hash is here"]),
  ],
});

/** What remains open of the acts of version 3. @param count null where the pack has no list of them */
export const actsOpen = (count) =>
  count === null
    ? { consistent: [], complete: [] }
    : {
        consistent:
          count === 0
            ? []
            : [
                count === 1
                  ? "the act in acts.ndjson: no fact of the ledger shows it, and it stands as the deployment signed it"
                  : `the ${count} acts in acts.ndjson: no fact of the ledger shows an act, and they stand as the deployment signed them`,
              ],
        complete: [
          "that acts.ndjson has every act on the token and on the whole deployment: acts on others are withheld, so a gap in its numbers shows nothing",
        ],
      };

export const rangeText = ({ coinType, first, last }) =>
  `${coinType}, checkpoints ${first.checkpoint} to ${last.checkpoint}`;
