/**
 * Evidence and open questions of a pack, for the command and the report. Reports are compared byte
 * by byte: these words may change only with the pack version.
 */
import { actsOpen, correctionsOpen, leftOutOpen } from "../../../client/pack-verdict.ts";
import type { Tier } from "../../../client/verify-audit-pack.ts";
import type { ComparedActs } from "./acts.ts";
import type { Outcome } from "./check.ts";
import type { ProvenFacts } from "./entries.ts";
import { FILES, type PackHead } from "./form.ts";
import type { Reread, Unread } from "./reread.ts";
import type { KnownValidators } from "./signatures.ts";

/** Tables, movements and report were recomputed before without a difference. */
export const consistency = (
  head: PackHead,
  outcome: Outcome,
  { committee, trusted }: KnownValidators = {},
): Tier => {
  const { trust, packages, opening, first, last } = head;
  const isKnown = committee !== undefined || trusted !== undefined;
  const { signatures, firstEpoch, lastEpoch, lowestStake } = outcome;
  const asSigned = outcome.items - outcome.itemsProven;
  const named =
    trust.checkpoint === null
      ? ""
      : `, which checkpoint ${trust.checkpoint} of digest ${trust.digest} names`;
  return {
    holds: true,
    by: [
      ...(outcome.facts === 0
        ? [
            `the pack has no fact of the token between checkpoints ${first.checkpoint} and ${last.checkpoint}: it says that nothing happened`,
          ]
        : []),
      `${signatures} signatures of validators of epochs ${firstEpoch} to ${lastEpoch}, each by ${lowestStake} of 10000 or more, beginning with the committee of epoch ${trust.epoch}${named}${isKnown ? ", as given" : ""}`,
      `${outcome.facts} facts in ${outcome.transactions} transactions of ${outcome.checkpoints} checkpoints between, with every digest up to these signatures`,
      `both registers, ${outcome.movements} movements, ${outcome.holderEvents} events of the register, ${outcome.roleEvents} of roles and ${FILES.report} were made again from ${opening === "whole" ? "the facts" : `${FILES.firstState} and these facts`}, and are the same`,
      outcome.first.head.totalSupply === null
        ? `the token was not there yet at the first date; all rows of the last register come to the supply of the treasury object: ${outcome.last.head.issued} of the smallest unit`
        : `all rows of both registers come to the supply of the treasury object${asSigned === 0 ? "" : `, as ${FILES.firstState} has it or a fact since`}: ${outcome.first.head.issued} and ${outcome.last.head.issued} of the smallest unit`,
      `${outcome.followed} times a transaction found an object of the token exactly as the one before it here left it`,
      opening === "whole"
        ? `the first register was made of ${outcome.openingFacts} facts in ${outcome.openingCheckpoints} checkpoints, from the token's first one in the pack on`
        : `${outcome.itemsProven} of the ${outcome.items} objects, memberships and roles of the first register are what ${outcome.openingCheckpoints} checkpoints up to it made of them`,
    ],
    not_shown: [
      ...(isKnown
        ? []
        : [
            `that the validators of epoch ${trust.epoch} in ${FILES.committee} are the ledger's: anybody can make validators. Give those that you know with --committee-from, or the checkpoint that names them with --trust`,
          ]),
      `that these are the contract's addresses, and all of them: compare ${packages.join(", ")}`,
      ...(asSigned === 0
        ? []
        : [
            `the other ${asSigned} objects, memberships and roles of the first register: they stand as the deployment signed them, and with them the decimals where the metadata is one of them`,
          ]),
      ...(outcome.decimalsProven || outcome.last.head.decimals === null
        ? []
        : ["the decimals: no metadata of the coin is among the facts"]),
      "the digests of pipelines in the manifest, which are of all tokens: `holderbook compare` compares them",
      ...actsOpen(outcome.acts?.length ?? null).consistent,
      ...correctionsOpen(outcome.acts ?? []),
      ...leftOutOpen(outcome.acts ?? []),
    ],
  };
};

const EVENTS = `${FILES.movements}, ${FILES.holderEvents} and ${FILES.roleEvents}`;
const REGISTERS = `${FILES.firstTable}, ${FILES.firstState} and ${FILES.lastTable}`;

/** Completeness depends on what was read elsewhere: nothing in a pack can prove it. */
export const completeness = (
  { coinChain = null, last, version }: Pick<PackHead, "coinChain" | "last" | "version">,
  shown: Tier | null = null,
  read: Reread | Unread | null = null,
  kept:
    | (ProvenFacts & {
        readonly roots: readonly string[];
        readonly acts: ComparedActs;
        readonly corrections: ComparedActs;
      })
    | null = null,
): Tier => {
  const by: string[] = [
    ...(shown?.by ?? []),
    ...(kept?.corrections.by ?? []),
    ...(kept?.roots ?? []),
  ];
  const open: string[] = [...(kept?.notes ?? [])];
  if (read !== null && "why" in read) open.push(`what ${read.source} has: ${read.why}`);
  const again = read === null || "why" in read ? null : read;
  if (again !== null) {
    by.push(
      `checkpoints ${again.from} to ${last.checkpoint} were read again from ${again.source}, each naming the digest of the one before, up to the last one, which is signed: the pack leaves out no transaction of the token between the registers`,
      ...(again.beginning === null
        ? []
        : [
            `they begin ${again.beginning}, before which there was no such token: the first register is what they made of it, and no object, role, group, holder or freeze is left out`,
          ]),
    );
  }
  const { entry = null, through = null } = kept ?? {};
  if (entry !== null && through !== null) {
    by.push(
      `entry ${entry.number} of the deployment's sequence, which you kept: dated ${entry.at}, says that the token had exactly these ${entry.facts} facts up to checkpoint ${through}: none of them was left out, added or changed since`,
    );
  }
  const byEntry = through !== null && through >= BigInt(last.checkpoint);
  by.push(...(kept?.acts.by ?? []));
  const isRead = again !== null && again.beginning !== null;
  const isShown = shown?.holds === true;
  const isWhole = isRead || isShown || byEntry;
  if (!isWhole && through !== null) {
    open.push(`what happened behind checkpoint ${through}, where the entry ends`);
  }
  if (!isWhole && again === null && shown === null) {
    open.push(
      `the completeness of every table: ${REGISTERS}, ${EVENTS} are authentic only. A transaction that was left out shows where a later one in the pack found its objects, or where the supply does not fit; otherwise nothing here shows it. --source reads the checkpoints again`,
    );
  } else if (!isWhole && again !== null) {
    open.push(
      `the completeness of the first register, and so of what the last one has from it: ${REGISTERS} are authentic only. --source with --since, from the publication of the token's package on, shows it`,
    );
  }
  if (!isWhole && coinChain !== null && kept === null) {
    open.push(
      `that the pack has every fact that the deployment signed: --entry shows it, with an entry of its sequence that you kept (the signer names number ${coinChain.entry})`,
    );
  }
  if (!isWhole && coinChain === null && kept !== null) {
    open.push(
      "the entries of the token's chain: the pack has not all facts since the token's first one, so it cannot be held against them",
    );
  }
  if (!isWhole && coinChain !== null && kept?.through === null && kept.notes.length === 0) {
    open.push("the entries: none of them is about the token's facts");
  }
  const byFaith =
    isWhole && !isRead && !isShown
      ? ["what the deployment may have left out when it signed the entry: --source shows it"]
      : [];
  const unseen = again?.unseen ?? [];
  const versions = [
    ...(unseen.length === 0
      ? []
      : [
          `that ${unseen.join(", ")} is a version of the contract: what was read does not publish it as one`,
        ]),
    ...(again === null || again.olderThanRead === null
      ? []
      : [
          `that the contract has no other version from before checkpoint ${again.from}: what was read does not publish ${again.olderThanRead}`,
        ]),
  ];
  return {
    holds: isWhole ? true : null,
    by,
    not_shown: [
      // Read again, so nothing is on faith.
      ...(isRead ? [] : (shown?.not_shown ?? [])),
      ...(isWhole ? byFaith : open),
      ...versions,
      ...(kept?.corrections.open ?? []),
      ...(kept?.acts.open ?? []),
      ...actsOpen(version < 3 ? null : 0).complete,
    ],
  };
};
