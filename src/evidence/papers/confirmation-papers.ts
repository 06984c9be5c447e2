/** Paper 5: a confirmation letter to each requested holder, and the list of recipients. */
import type { CapRow } from "../../projections/cap-rows.ts";
import { code, fill, heading, type Inline, type Paper, table, text } from "../document/document.ts";
import type { LetterMoves } from "./gather.ts";
import { CAUSE_WORDS } from "./roll-forward-paper.ts";
import {
  amountsOf,
  PART_WORDS,
  PLACE,
  percentOf,
  placeCells,
  rowText,
  type Subject,
  timeText,
} from "./subject.ts";
import { rowName } from "./wallets.ts";

export const confirmationPapers = (subject: Subject): readonly Paper[] => {
  const letters = [...subject.gathered.letters];
  if (letters.length === 0) return [];
  const byName = new Map(subject.outcome.last.rows.map((row) => [rowName(row), row]));
  const amount = amountsOf(subject);
  const asked = letters.reduce((sum, [row]) => sum + (byName.get(row)?.balance ?? 0n), 0n);
  const all = subject.tie.closing.TOKENS + subject.tie.closing.GRANTS;
  const control: Paper = {
    number: "5",
    title: "Confirmations: control sheet",
    file: "5-confirmations",
    isLandscape: true,
    blocks: [
      text(
        "Each letter is a file of its own as well. Send the letters yourself, to addresses obtained independently of the issuer, and have the answers sent directly to you.",
      ),
      text(
        `Coverage: ${letters.filter(([row]) => byName.has(row)).length} of ${subject.outcome.last.rows.length} rows of the closing register that have a balance, ${amount(asked)} of ${amount(all)} (${percentOf(asked, all)}).`,
      ),
      table({
        columns: [
          { title: "letter", width: 8 },
          { title: "holder, or wallet of none", width: 34, isWhole: true },
          { title: "closing balance", width: 16, isNumber: true },
          { title: "sent on", width: 10 },
          { title: "answered on", width: 10 },
          { title: "agrees", width: 8 },
          { title: "difference", width: 14 },
          { title: "initials", width: 8 },
        ],
        rows: letters.map(([row], at) => [
          `5.${at + 1}`,
          rowText(row),
          amount(byName.get(row)?.balance ?? 0n),
          ...["", "", "", "", ""],
        ]),
        isSheet: true,
      }),
    ],
  };
  return [
    control,
    ...letters.map(([row, moves], at) => letter(subject, row, byName.get(row), moves, at + 1)),
  ];
};

const letter = (
  subject: Subject,
  name: string,
  row: CapRow | undefined,
  moves: LetterMoves,
  at: number,
): Paper => {
  const { manifest } = subject;
  const amount = amountsOf(subject);
  const isHolder = !name.startsWith("0x");
  const title = isHolder ? `holder ${name}` : `wallet ${name.slice(0, 10)}…${name.slice(-6)}`;
  return {
    number: `5.${at}`,
    title: `Request for confirmation: ${title}`,
    file: `confirmations/${isHolder ? `holder-${name}` : `wallet-${name}`}`,
    blocks: [
      fill("Name and address", "Our reference", "Date"),
      text(
        "In connection with our audit of the issuer, please tell us whether you agree with what the register of ",
        code(manifest.coinType),
        " shows for you (",
        rowText(name),
        `) at ${timeText(manifest.last.timestampMs)} UTC. Please answer to us directly, even if you agree. The movements in the period are listed at the end.`,
      ),
      heading("At the closing date"),
      table({
        columns: [
          { title: "", width: 40 },
          { title: "amount", width: 20, isNumber: true },
        ],
        rows: [
          ["balance", amount(row?.balance ?? 0n)],
          ["of that tokens, held by the wallets themselves", amount(row?.tokens ?? 0n)],
          ["of that in grants", amount(row?.granted ?? 0n)],
          ["of the grants unlocked", amount(row?.unlocked ?? 0n)],
          ["of the grants locked", amount(row?.locked ?? 0n)],
        ],
      }),
      ...wallets(subject, name, row),
      heading("Your answer"),
      table({
        columns: [
          { title: "", width: 6 },
          { title: "please mark one", width: 60 },
        ],
        rows: [
          ["[ ]", "I agree with what is shown above."],
          ["[ ]", "I do not agree. What I know differs as follows:"],
        ],
        isSheet: true,
      }),
      fill("Differences", "Name", "Signature", "Date"),
      heading("How to check this yourself"),
      text(
        `The register at checkpoint ${manifest.last.checkpoint} has the root `,
        code(manifest.roots.last.root),
        ". The issuer can give you a statement that leads from your row to it: ",
        code(
          `holderbook statement --coin '${manifest.coinType}' ${isHolder ? `--holder ${name}` : `--owner ${name}`} --at ${manifest.last.checkpoint} --statement-version 1`,
        ),
      ),
      heading("Movements in the period"),
      text(
        `From ${timeText(manifest.first.timestampMs)} to ${timeText(manifest.last.timestampMs)}: ${moves.all === 0 ? "none" : moves.all}${moves.all > moves.newest.length ? `, of which the newest ${moves.newest.length} follow` : ""}.`,
      ),
      ...(moves.all === 0
        ? []
        : [
            table({
              columns: [
                ...PLACE,
                { title: "cause", width: 12 },
                { title: "change", width: 14, isNumber: true },
              ],
              rows: moves.newest.map((moved) => [
                ...placeCells(moved),
                `${CAUSE_WORDS[moved.cause]}, ${PART_WORDS[moved.part]}`,
                amount(moved.change),
              ]),
            }),
          ]),
    ],
  };
};

const wallets = (subject: Subject, name: string, row: CapRow | undefined) => {
  const amount = amountsOf(subject);
  const of = new Map<string, { group: string; isFrozen: boolean; balance: bigint }>();
  for (const { address, balance, groupId, isFrozen } of row?.wallets ?? []) {
    of.set(address, { group: groupId === null ? "" : `${groupId}`, isFrozen, balance });
  }
  // A holder without a balance has wallets but no row.
  if (row === undefined) {
    const all = subject.outcome.last.memberships;
    const own = all.filter(({ aspect, value }) => aspect === "holder" && `${value}` === name);
    for (const { address } of own) {
      const is = (what: string) =>
        all.find((one) => one.address === address && one.aspect === what)?.value;
      const group = is("group");
      of.set(address, {
        group: group === undefined ? "" : `${group}`,
        isFrozen: is("freeze") !== undefined,
        balance: 0n,
      });
    }
  }
  const rows: readonly (readonly Inline[])[] = [...of].map(
    ([address, { group, isFrozen, balance }]) => [
      code(address),
      amount(balance),
      group,
      isFrozen ? "frozen" : "",
    ],
  );
  return [
    heading(`Wallets: ${rows.length === 0 ? "none" : rows.length}`),
    ...(rows.length === 0
      ? []
      : [
          table({
            columns: [
              { title: "wallet", width: 40, isWhole: true },
              { title: "balance", width: 18, isNumber: true },
              { title: "group", width: 8, isNumber: true },
              { title: "frozen", width: 8 },
            ],
            rows,
          }),
        ]),
  ];
};
