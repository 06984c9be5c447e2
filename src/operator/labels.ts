/** `/operator/labels`: names of holders, wallets, roles and treasuries, for keys that see labels. */
import { z } from "zod";
import type { Database, Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import type { Key } from "../http/keys.ts";
import { json, jsonBody, NO_BODY, type Route, route, type Who } from "../http/route.ts";
import { knownCoins, unknownCoin } from "../labels/known-coins.ts";
import { LabelError, type LabelSubject, labelText, subjectOf } from "../labels/label.ts";
import {
  type Label,
  type LabelKeys,
  labelById,
  labelHistory,
  labelsOf,
  listLabels,
  subjectName,
} from "../labels/read.ts";
import { LABEL_KINDS } from "../labels/tables.ts";
import { NoSealingKeyError, removeLabel, setLabels } from "../labels/write.ts";
import {
  type LabelItem,
  labelAnswer,
  labelRemovedAnswer,
  operatorLabelAnswer,
  operatorLabelsAnswer,
} from "./answers.ts";
import { pageLimit } from "./cursor.ts";

export type LabelSettings = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly database: Database;
  readonly who: Who<Key>;
  readonly labelKeys: LabelKeys;
};

const idText = z.string().regex(/^\d{1,18}$/, "must be the id of a label");

const labelsQuery = z.strictObject({
  coinType: z.string().max(2_000, "is too long").optional().meta({
    description: "Only labels of this coin, and those of wallets.",
  }),
  after: idText.transform(BigInt).optional().meta({ description: "`next` of the page before." }),
  limit: pageLimit,
});

const member = (description: string) =>
  z.string().max(2_000, "is too long").optional().meta({ description });

const labelBody = z.strictObject({
  kind: z.enum(LABEL_KINDS, `must be one of ${LABEL_KINDS.join(", ")}`).meta({
    description: "What it names.",
  }),
  coinType: member("Coin type; not for a wallet, whose label holds for all coins."),
  holderId: member("Holder's number, for a holder."),
  address: member("Address, for a wallet."),
  role: member("The role's type or its bare name, such as `ContractAdmin`, for a role."),
  text: z.string().max(2_000, "is too long").meta({ description: "1 to 200 characters." }),
  isSealed: z.boolean().default(false).meta({
    description: "Store it sealed with `PII_KEYS`: it is then found by its whole text only.",
  }),
});

const removeQuery = z.strictObject({
  erase: z.enum(["true", "false"], "must be true or false").default("false").meta({
    description:
      "Erase its former texts, too. Those of a label that is or was sealed are always erased.",
  }),
});

const NO_LABEL = "there is no label of this id";

export const labelRoutes = ({ db, database, who, labelKeys }: LabelSettings): readonly Route[] => {
  const seeing = seeingLabels(who);
  return [
    route({
      method: "GET",
      path: "/operator/labels",
      who: seeing,
      operationId: "operatorLabels",
      summary: "Labels of holders, wallets, roles and treasuries",
      query: labelsQuery,
      answer: json("OperatorLabels", operatorLabelsAnswer, "A page."),
      handle: async ({ query: { coinType: given, after, limit } }) => {
        const coinType = given && (await knownCoin(db, given));
        const rows = await listLabels(db, labelKeys, { coinType, after, limit: limit + 1 });
        const shown = rows.slice(0, limit);
        const next = rows.length > limit ? `${shown.at(-1)?.id}` : null;
        return { items: shown.map(itemOf), next };
      },
    }),
    route({
      method: "PUT",
      path: "/operator/labels",
      who: seeing,
      operationId: "operatorSetLabel",
      summary: "Give a label",
      description:
        "Replaces the label of the same holder, wallet, role or treasury. Who and when are kept. Repeating it changes nothing.",
      body: jsonBody(labelBody),
      answer: json("Label", labelAnswer, "The label."),
      refusals: [409],
      handle: async ({ body, caller, visit }) => {
        const subject = await knownSubject(
          db,
          refusing(() => subjectOf(body)),
        );
        const { isSealed } = body;
        const text = refusing(() => labelText(body.text));
        const keys = isSealed ? await labelKeys() : undefined;
        try {
          await setLabels(database, keys, [{ ...subject, text, isSealed }], caller.id);
        } catch (error) {
          if (error instanceof NoSealingKeyError) throw new HttpError(409, error.message);
          throw error;
        }
        const label = (await labelsOf(database, labelKeys, [subject])).get(subjectName(subject));
        if (label === undefined) throw new HttpError(409, "it was removed meanwhile");
        visit.log.info({ key: caller.id, label: `${label.id}` }, "operator: gave a label");
        return itemOf(label);
      },
    }),
    route({
      method: "GET",
      path: "/operator/labels/:id",
      who: seeing,
      operationId: "operatorLabel",
      summary: "One label, with its history",
      params: { id: "As `/operator/labels` lists it." },
      answer: json("OperatorLabel", operatorLabelAnswer, "The label."),
      refusals: [404],
      handle: async ({ params }) => {
        const id = idOf(params.id);
        const label = await labelById(db, labelKeys, id);
        if (label === undefined) throw new HttpError(404, NO_LABEL);
        return { ...itemOf(label), history: [...(await labelHistory(db.sql, labelKeys, label))] };
      },
    }),
    route({
      method: "DELETE",
      path: "/operator/labels/:id",
      who: seeing,
      operationId: "operatorRemoveLabel",
      summary: "Remove a label",
      description: "Who and when are kept.",
      params: { id: "As `/operator/labels` lists it." },
      query: removeQuery,
      body: NO_BODY,
      answer: json("LabelRemoved", labelRemovedAnswer, "It is removed."),
      refusals: [404],
      handle: async ({ params, query, caller, visit }) => {
        const id = idOf(params.id);
        const erase = query.erase === "true";
        if (!(await removeLabel(database, { id, by: caller.id, erase }))) {
          throw new HttpError(404, NO_LABEL);
        }
        visit.log.info({ key: caller.id, label: `${id}` }, "operator: removed a label");
        return { id: `${id}`, removed: true as const };
      },
    }),
  ];
};

/** Refuses keys that do not see labels, before anything is read. */
export const seeingLabels = (who: Who<Key>): Who<Key> => ({
  ...who,
  enter: async (visit) => {
    const key = await who.enter(visit);
    if (key.seesLabels) return key;
    throw new HttpError(
      403,
      "this key does not see labels: make one with `holderbook keys create --kind operator --labels`",
    );
  },
});

const idOf = (text: string | undefined): bigint => {
  const { data } = idText.safeParse(text);
  if (data === undefined) throw new HttpError(404, NO_LABEL);
  return BigInt(data);
};

const refusing = <Made>(make: () => Made): Made => {
  try {
    return make();
  } catch (error) {
    if (error instanceof LabelError) throw new HttpError(400, error.message);
    throw error;
  }
};

const knownCoin = async (db: Db, given: string): Promise<string> => {
  const { coinType } = refusing(() => subjectOf({ kind: "TREASURY", coinType: given }));
  const found = (await knownCoins(db, [coinType])).get(coinType);
  if (found === undefined) throw new HttpError(400, `coinType: ${unknownCoin(coinType)}`);
  return found;
};

const knownSubject = async (db: Db, subject: LabelSubject): Promise<LabelSubject> =>
  subject.coinType === ""
    ? subject
    : { ...subject, coinType: await knownCoin(db, subject.coinType) };

const itemOf = ({ id, kind, coinType, subject, text, isSealed, by, at }: Label): LabelItem => ({
  id: `${id}`,
  kind,
  coinType: coinType || null,
  holderId: kind === "HOLDER" ? subject : null,
  address: kind === "WALLET" ? subject : null,
  role: kind === "ROLE" ? subject : null,
  text,
  isSealed,
  by,
  at,
});
