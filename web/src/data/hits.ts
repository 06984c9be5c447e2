/** What a search leads to: a view at an address. */

/** A view: its path, and the parameters of its address. */
export type Target = {
  readonly path: string;
  readonly search: Readonly<Record<string, string>>;
};

export type Hit = Target & {
  readonly kind: Kind;
  readonly title: string;
  /** More about it, such as its token. */
  readonly about: string;
  /** For keys that see labels; not remembered. */
  readonly label?: string | null;
};

/** Titles of the groups, in the order in which they are shown. */
const GROUPS = {
  HOLDER: "Holders",
  WALLET: "Wallets",
  TRANSACTION: "Transactions",
  EVENT: "Events",
  CHECKPOINT: "Checkpoints",
  DATE: "Dates",
  REQUEST: "Requests",
  DELIVERY: "Deliveries",
  TOKEN: "Tokens",
  PAGE: "Pages",
} as const;

export type Kind = keyof typeof GROUPS;

export type HitGroup = { readonly value: string; readonly items: readonly Hit[] };

/** The address of a hit, which also tells two hits apart. */
export const addressOf = ({ path, search }: Target): string =>
  `${path}?${new URLSearchParams(search)}`;

/** Hits by kind; of several to one address the first. */
export const grouped = (hits: readonly Hit[]): readonly HitGroup[] => {
  const once = new Map<string, Hit>();
  for (const hit of hits) {
    const address = addressOf(hit);
    if (!once.has(address)) once.set(address, hit);
  }
  const byKind = Map.groupBy(once.values(), ({ kind }) => kind);
  return (Object.keys(GROUPS) as Kind[]).flatMap((kind) => {
    const items = byKind.get(kind);
    return items === undefined ? [] : [{ value: GROUPS[kind], items }];
  });
};
