/** Labels of the token in view: what its issuer calls holders, wallets, roles and the treasury. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { ask, askPath, graph, type ResultOf } from "./ask.ts";
import { NOW_LONG, readAll, useRead } from "./queries.ts";
import { useSession } from "./session.ts";

const labelsPage = graph(`query Labels($coinType: String!, $after: String) {
  _meta { seesLabels }
  labels(coinType: $coinType, after: $after, limit: 1000) {
    id kind holderId address role text isSealed by at cursor
  }
}`);

export type Label = NonNullable<ResultOf<typeof labelsPage>["labels"]>[number];

/** Who or what has a label. */
export type Subject =
  | { readonly kind: "HOLDER"; readonly holderId: string }
  | { readonly kind: "WALLET"; readonly address: string }
  | { readonly kind: "ROLE"; readonly role: string }
  | { readonly kind: "TREASURY" };

/** Of a row of the register: its holder, or its wallet without one. */
export const subjectOf = ({
  holderId,
  wallets,
}: {
  readonly holderId: string | null;
  readonly wallets: readonly { readonly address: string }[];
}): Subject =>
  holderId === null
    ? { kind: "WALLET", address: wallets[0]?.address ?? "" }
    : { kind: "HOLDER", holderId };

type Labels = {
  /** Whether the key in use sees labels; without, there are none. */
  readonly seesLabels: boolean;
  readonly bySubject: ReadonlyMap<string, Label>;
};

const keyOf = (kind: string, name: string | null): string => `${kind} ${name ?? ""}`;

const nameOf = (subject: Subject): string | null => {
  if (subject.kind === "HOLDER") return subject.holderId;
  if (subject.kind === "WALLET") return subject.address;
  return subject.kind === "ROLE" ? subject.role : null;
};

/** Pages of 1,000 that are read; a longer list is shown where the service gives labels with rows. */
const MAX_PAGES = 10;

const NONE: Labels = { seesLabels: false, bySubject: new Map() };

/** The labels of a token and of all wallets; none for a key that does not see them. */
export const useLabels = (coinType: string) => {
  const { data = NONE } = useRead(
    NOW_LONG,
    ["labels", coinType],
    async (asking) => {
      let seesLabels = false;
      const { rows } = await readAll(
        MAX_PAGES,
        async (after) => {
          const { _meta, labels } = await ask(labelsPage, { coinType, after }, asking);
          seesLabels = _meta?.seesLabels === true;
          return labels;
        },
        ({ cursor }) => cursor,
      );
      const named = rows.map(
        (label) =>
          [keyOf(label.kind, label.holderId ?? label.address ?? label.role), label] as const,
      );
      return { seesLabels, bySubject: new Map(named) };
    },
    { enabled: coinType !== "" },
  );
  // The same while the labels are: charts are drawn from them.
  return useMemo(
    () => ({
      seesLabels: data.seesLabels,
      labelOf: (subject: Subject): Label | undefined =>
        data.bySubject.get(keyOf(subject.kind, nameOf(subject))),
    }),
    [data],
  );
};

export type LabelsOfToken = ReturnType<typeof useLabels>;

/** Gives, changes or removes (`text` null) a label. The error is an AskError. */
export const useSetLabel = (coinType: string, subject: Subject, current: Label | undefined) => {
  const { key } = useSession();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async ({ text, isSealed }: { text: string | null; isSealed: boolean }) => {
      if (text === null) {
        if (current === undefined) return;
        const path = `/operator/labels/${current.id}?erase=true`;
        await askPath(path, { key, method: "DELETE" });
        return;
      }
      const coin = subject.kind === "WALLET" ? {} : { coinType };
      const body = { ...subject, ...coin, text, isSealed };
      await askPath("/operator/labels", { key, method: "PUT", body });
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: [NOW_LONG, "labels"] }),
  });
};
