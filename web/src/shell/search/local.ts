/** What a text names by its form alone, or that the page knows already: found without asking. */

import type { Hit, Target } from "../../data/hits.ts";
import { canonicalWallet, type Token, tokenLabel, tokenName } from "../../data/tokens.ts";
import { countText } from "../../shown/amount.ts";
import { momentText } from "../../shown/moment.ts";
import { shortened } from "../../shown/shorten.ts";

export type Here = {
  readonly path: string;
  readonly token: Token | null;
  readonly tokens: readonly Token[];
  /** The newest checkpoint, decimal; null before the first. */
  readonly checkpoint: string | null;
  readonly isOperator: boolean;
  readonly pages: readonly { readonly to: string; readonly label: string }[];
};

/** Views that stay where another token is chosen; others show what the token before has. */
const STAYING = /^\/(?:|cap-table|movements|roles)$/;

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** A day, or a time of it, as the page shows times: `2026-11-27`, `2026-11-27 14:03:11 UTC`. */
const DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?)?(?:\.\d+)?\s*(?:Z|UTC)?$/i;

/** Unix seconds; of a day its last second, of a minute its last. Null for no date. */
export const secondsOf = (text: string): number | null => {
  const [, day, minute, second] = DATE.exec(text) ?? [];
  if (day === undefined) return null;
  const ms = Date.parse(`${day}T${minute ?? "23:59"}${second ?? ":59"}Z`);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000);
};

export const localHits = (text: string, here: Here, nowMs = Date.now()): readonly Hit[] => {
  const sought = text.trim();
  const lower = sought.toLowerCase();
  if (sought === "") return [];
  return [
    ...ofToken(sought, here),
    ...checkpoints(sought, here),
    ...dates(sought, here, nowMs),
    ...(here.isOperator && UUID.test(sought)
      ? [
          {
            kind: "REQUEST",
            title: shortened(lower, 8, 4),
            about: "Request",
            path: `/requests/${lower}`,
            search: {},
          } as const,
        ]
      : []),
    ...here.tokens
      .filter((token) => isNamed(token, lower))
      .map(({ coinType, ...token }): Hit => {
        const [title, about] = [
          tokenLabel({ coinType, ...token }),
          tokenName({ coinType, ...token }),
        ];
        return { kind: "TOKEN", title, about, ...tokenTarget(coinType, here) };
      }),
    ...here.pages
      .filter(({ label }) => label.toLowerCase().includes(lower))
      .map(
        ({ to, label }): Hit => ({
          kind: "PAGE",
          title: label,
          about: "",
          path: to,
          search: tokenSearch(here),
        }),
      ),
  ];
};

/** The view that is open with another token, or Today. */
export const tokenTarget = (coinType: string, { path }: Pick<Here, "path">): Target => ({
  path: STAYING.test(path) ? path : "/",
  search: { token: coinType },
});

/** A part of a coin type must be longer than a number: its package is hex. */
const isNamed = (token: Token, lower: string): boolean =>
  [tokenLabel(token), tokenName(token)].some((name) => name.toLowerCase().includes(lower)) ||
  (lower.length >= 6 && token.coinType.toLowerCase().includes(lower));

export const tokenSearch = ({ token }: Here): Record<string, string> =>
  token === null ? {} : { token: token.coinType };

const ofToken = (sought: string, here: Here): readonly Hit[] => {
  const { token } = here;
  if (token === null) return [];
  const search = tokenSearch(here);
  const about = tokenLabel(token);
  const [, holderId] = /^(?:holder\s*)?#?(\d{1,18})$/i.exec(sought) ?? [];
  if (holderId !== undefined) {
    return [
      {
        kind: "HOLDER",
        title: `Holder ${BigInt(holderId)}`,
        about,
        path: `/holder/${BigInt(holderId)}`,
        search,
      },
    ];
  }
  if (/^0x[0-9a-f]{40,64}$/i.test(sought)) {
    const address = canonicalWallet(sought);
    return [
      {
        kind: "WALLET",
        title: shortened(address, 10, 6),
        about: "",
        path: `/wallet/${address}`,
        search,
      },
    ];
  }
  const [, digest] = /^([1-9A-HJ-NP-Za-km-z]{43,44})(?:-\d+)?$/.exec(sought) ?? [];
  if (digest !== undefined) {
    return [
      {
        kind: "TRANSACTION",
        title: shortened(digest, 10, 6),
        about: "",
        path: `/transaction/${digest}`,
        search,
      },
    ];
  }
  return [];
};

const checkpoints = (sought: string, here: Here): readonly Hit[] => {
  const { checkpoint } = here;
  const [, digits] = /^(?:checkpoint\s*)?(\d{1,3}(?:,\d{3})+|\d{1,18})$/i.exec(sought) ?? [];
  if (digits === undefined || checkpoint === null) return [];
  const number = BigInt(digits.replaceAll(",", ""));
  if (number > BigInt(checkpoint)) return [];
  return [
    {
      kind: "CHECKPOINT",
      title: `Checkpoint ${countText(number)}`,
      about: "Its proof",
      path: "/proof",
      search: { ...tokenSearch(here), checkpoint: `${number}` },
    },
  ];
};

const dates = (sought: string, here: Here, nowMs: number): readonly Hit[] => {
  const seconds = secondsOf(sought);
  if (seconds === null || seconds * 1_000 > nowMs) return [];
  const search = { ...tokenSearch(here), at: `${seconds}` };
  return [
    {
      kind: "DATE",
      title: momentText(seconds * 1_000),
      about: "Cap table then",
      path: "/cap-table",
      search,
    },
  ];
};
