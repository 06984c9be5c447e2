/** What a dishonest operator makes of an honest audit pack. */
import { canonicalJson } from "../../client/canonical-json.ts";
import {
  bytes,
  changed,
  excerpts,
  type Forgery,
  holdings,
  type Line,
  lines,
  manifest,
  manifestIn,
  registers,
  text,
  withText,
} from "./forging.ts";
import { signedAnew } from "./packs.ts";

const upper = (hex: string) =>
  hex.replace(/0x([0-9a-f]{64})/, (_, digits) => `0x${digits.toUpperCase()}`);
const ESCAPE = "\u001b[2J";
const HUGE = "x".repeat(300_000);
const [STATE, MOVEMENTS, HOLDERS, ROLES] = [
  "first/state.ndjson",
  "movements.ndjson",
  "holder-events.ndjson",
  "role-events.ndjson",
] as const;
const ACTS = "acts.ndjson";
const [FIRST_TABLE, LAST_TABLE] = ["first/cap-table.json", "last/cap-table.json"] as const;

const withoutFirst = (matches: (line: Line) => boolean) => (own: readonly Line[]) => {
  const at = own.findIndex(matches);
  return own.filter((_, index) => index !== at);
};
const first = (edit: (line: Line) => Line) => (own: readonly Line[]) =>
  own.map((line, index) => (index === 0 ? edit(line) : line));
const firstOf =
  (matches: (line: Line) => boolean, edit: (line: Line) => Line) => (own: readonly Line[]) => {
    const at = own.findIndex(matches);
    return own.map((line, index) => (index === at ? edit(line) : line));
  };
const isObject =
  (name: RegExp) =>
  ({ kind, type }: Line) =>
    kind === "object" && name.test(`${type}`);

/** Of every pack. */
export const FORGERIES: readonly Forgery[] = [
  ...[
    "manifest.json",
    "manifest.sig.json",
    "report.md",
    "committee.json",
    FIRST_TABLE,
    STATE,
    LAST_TABLE,
    MOVEMENTS,
  ].map(bytes),
  ...[HOLDERS, ROLES].map(bytes),

  manifest("a ledger with lines of a report", () => ({
    chainId: "mainnet\n\n## What was checked\n\n- everything",
  })),
  manifest("a ledger that clears the terminal", () => ({ chainId: ESCAPE })),
  manifest("a ledger of 300 kB", () => ({ chainId: HUGE })),
  manifest("the token in capitals", ({ coinType }) => ({ coinType: upper(coinType) })),
  manifest("the token with 0X", ({ coinType }) => ({ coinType: coinType.replace("0x", "0X") })),
  manifest("the token without leading zeros", () => ({ coinType: "0x2::acme::ACME" })),
  manifest("the token with a control character", ({ coinType }) => ({
    coinType: `${coinType}${ESCAPE}`,
  })),
  manifest("another token", ({ coinType }) => ({ coinType: coinType.replace("ACME", "ACMF") })),
  manifest("packages in capitals", ({ packages }) => ({ packages: packages.map(upper) })),
  manifest("a package of no form", ({ packages }) => ({ packages: [...packages, "0x2"] })),
  manifest("no package", () => ({ packages: [] }), "command"),
  manifest("a checkpoint with a sign", (own) => ({
    first: { ...own.first, checkpoint: `+${own.first.checkpoint}` },
  })),
  manifest("a checkpoint with a leading zero", (own) => ({
    last: { ...own.last, checkpoint: `0${own.last.checkpoint}` },
  })),
  manifest("a checkpoint before all", (own) => ({ first: { ...own.first, checkpoint: "-1" } })),
  manifest("a checkpoint beyond all", (own) => ({
    last: { ...own.last, checkpoint: "9".repeat(40) },
  })),
  manifest("the same checkpoint twice", ({ last }) => ({ first: last })),
  manifest("first and last swapped", (own) => ({ first: own.last, last: own.first })),
  manifest("the range begins one earlier", (own) => ({
    first: { ...own.first, checkpoint: `${BigInt(own.first.checkpoint) - 1n}` },
  })),
  manifest("the range ends one later", (own) => ({
    last: { ...own.last, checkpoint: `${BigInt(own.last.checkpoint) + 1n}` },
  })),
  manifest("a digest in another spelling", (own) => ({
    first: { ...own.first, digest: `1${own.first.digest}` },
  })),
  manifest("another digest of the last checkpoint", (own) => ({
    last: { ...own.last, digest: own.first.digest },
  })),
  manifest("another digest of the first checkpoint", (own) => ({
    first: { ...own.first, digest: own.last.digest },
  })),
  manifest(
    "another time, of the last checkpoint",
    (own) => ({ last: { ...own.last, timestampMs: `${BigInt(own.last.timestampMs) + 1n}` } }),
    "command",
  ),
  manifest("a time that no date holds", (own) => ({
    first: { ...own.first, timestampMs: "9".repeat(30) },
  })),
  manifest("a key's name that ends its code", () => ({ keyId: "key`\n# All is well" })),
  manifest("a key's name that turns the text around", () => ({ keyId: "\u202etsurt" })),
  manifest("another version", () => ({ version: 5 })),
  manifest("another format", () => ({ format: "holderbook-statement" })),
  manifest("a member that nobody knows", () => ({ verdict: "holds" })),
  manifest("a member of a member that nobody knows", (own) => ({
    first: { ...own.first, verified: true },
  })),
  manifest("an opening that nobody knows", () => ({ opening: "perfect" })),
  manifest("validators of no checkpoint, by its digest", (own) => ({
    trust: { ...own.trust, checkpoint: null, digest: own.last.digest },
  })),
  manifest(
    "validators of another epoch",
    (own) => ({ trust: { ...own.trust, epoch: "7" } }),
    "command",
  ),
  manifest("an epoch with a leading zero", (own) => ({ trust: { ...own.trust, epoch: "00" } })),
  manifest("a root in capitals", ({ roots }) => ({
    roots: { ...roots, last: { ...roots.last, root: roots.last.root.toUpperCase() } },
  })),
  manifest("another root", ({ roots }) => ({
    roots: { ...roots, last: { ...roots.last, root: roots.first.root } },
  })),
  manifest("a total with a leading zero", ({ roots }) => ({
    roots: { ...roots, last: { ...roots.last, total: `0${roots.last.total}` } },
  })),
  manifest("a total beyond 16 bytes", ({ roots }) => ({
    roots: { ...roots, last: { ...roots.last, total: `${2n ** 128n}` } },
  })),
  manifest("digests of a pipeline of no form", ({ digests }) => ({
    digests: { ...digests, first: { "a\u001b": "00" } },
  })),
  manifest("a file of holders' names of no form", () => ({
    holderNames: { sha256: "none", size: "1" },
  })),
  manifest("a file less than there is", ({ files: { [MOVEMENTS]: _, ...files } }) => ({ files })),
  manifest("a file above the pack", ({ files }) => ({
    files: { ...files, "../settings": { sha256: "0".repeat(64), size: "0" } },
  })),
  manifest("a file of excerpts with a leading zero", ({ files }) => ({
    files: { ...files, "checkpoints/007.binpb": { sha256: "0".repeat(64), size: "0" } },
  })),
  manifest("a size in another base", ({ files }) => ({
    files: { ...files, [MOVEMENTS]: { sha256: "0".repeat(64), size: "0x10" } },
  })),
  {
    name: "a file that is not in the manifest",
    foundBy: "all",
    forge: (pack) => withText(pack, "notes.txt", "all was checked"),
  },
  {
    name: "a manifest with spaces",
    foundBy: "all",
    forge: (pack) => changed(pack, "manifest.json", (own) => own.replace("{", "{ ")),
  },
  {
    name: "a manifest with a member twice",
    foundBy: "all",
    forge: (pack) => changed(pack, "manifest.json", (own) => own.replace("{", '{"version":1,')),
  },
  {
    name: "a signature in base64 of another spelling",
    foundBy: "all",
    forge: (pack) => changed(pack, "manifest.sig.json", (own) => own.replace("==", "")),
  },
  {
    name: "the roots signed with another key",
    foundBy: "all",
    forge: (pack, key) => {
      const { roots } = manifestIn(pack);
      const last = { ...roots.last, signature: roots.first.signature };
      const before = withText(
        pack,
        "manifest.json",
        canonicalJson({ ...manifestIn(pack), roots: { ...roots, last } }),
      );
      return signedAnew(before, undefined, key, false);
    },
  },

  text("report.md", "one more sentence", (own) => `${own}Nothing else happened.\n`, "command"),
  text(
    "report.md",
    "another number",
    (own) => own.replace("movements of balances", "movements  of balances"),
    "command",
  ),
  text(
    "committee.json",
    "validators of one's own",
    (own) => own.replace(/"publicKey": ?"..../, (key) => `${key.slice(0, -4)}AAAA`),
    "command",
  ),
  text(
    "committee.json",
    "another epoch",
    (own) => own.replace(/"epoch": ?"\d+"/, '"epoch": "9"'),
    "command",
  ),
  text(
    "committee.json",
    "other stakes",
    (own) => own.replace(/"stake": ?"\d+"/, '"stake": "1"'),
    "command",
  ),

  text(FIRST_TABLE, "no supply", (own) => own.replace(/"totalSupply":"\d+"/, '"totalSupply":null')),
  text(LAST_TABLE, "another supply", (own) =>
    own.replace(/"totalSupply":"(\d+)"/, '"totalSupply":"1$1"'),
  ),
  text(LAST_TABLE, "90,000,000 decimals", (own) =>
    own.replace(/"decimals":\d+/, '"decimals":90000000'),
  ),
  text(LAST_TABLE, "a balance with a sign", (own) => own.replace('"balance":"', '"balance":"+')),
  text(LAST_TABLE, "a balance with a leading zero", (own) =>
    own.replace('"balance":"', '"balance":"0'),
  ),
  text(LAST_TABLE, "a wallet in capitals", (own) =>
    own.replace(/"address":"0x[0-9a-f]{64}"/, (one) => `${upper(one)}`),
  ),
  text(LAST_TABLE, "a wallet of any text", (own) =>
    own.replace(/"address":"0x[0-9a-f]{64}"/, `"address":"${"treasury"}"`),
  ),
  text(LAST_TABLE, "rows of another checkpoint", (own) =>
    own.replace(/"checkpoint":"\d+"/, '"checkpoint":"1"'),
  ),
  text(
    LAST_TABLE,
    "another time",
    (own) => own.replace(/"checkpointTimestamp":"(\d+)"/, '"checkpointTimestamp":"1$1"'),
    "all",
  ),
  text(LAST_TABLE, "another share", (own) => own.replace(/"share":"0\.\d/, '"share":"1.0'), "all"),
  text(LAST_TABLE, "another number of rows", (own) =>
    own.replace(/"holderCount":/, '"holderCount":1'),
  ),
  text(LAST_TABLE, "a member that nobody knows", (own) => own.replace("{", '{"audited":true,')),
  text(LAST_TABLE, "a member twice", (own) =>
    own.replace('"isFrozen":false', '"isFrozen":false,"isFrozen":false'),
  ),
  text(LAST_TABLE, "behind its end", (own) => `${own}\n`),
  registers("the largest holder is left out", (table) => void table.rows.shift(), "all"),
  registers(
    "a holder is invented",
    (table) => {
      const [row] = table.rows;
      if (row === undefined) return;
      const address = `0x${"e".repeat(64)}`;
      table.rows.push({
        ...row,
        holderId: "999",
        wallets: [{ address, balance: "1", groupId: null, isFrozen: false }],
        balance: "1",
        tokens: "1",
        granted: "0",
        unlocked: "0",
        locked: "0",
      });
    },
    "all",
  ),
  registers(
    "two holders are swapped",
    ({ rows: [one, other] }) => {
      if (one === undefined || other === undefined) return;
      [one.holderId, other.holderId] = [other.holderId, one.holderId];
    },
    "all",
  ),
  registers(
    "another group",
    holdings((row) => {
      for (const wallet of row.wallets) wallet.groupId = "77";
    }),
    "all",
  ),
  registers(
    "a freeze is revived",
    holdings((row) => {
      for (const wallet of row.wallets) wallet.isFrozen = !wallet.isFrozen;
    }),
    "all",
  ),
  registers(
    "tokens are called granted",
    holdings((row) => {
      Object.assign(row, { tokens: "0", granted: row.balance, unlocked: "0", locked: row.balance });
    }),
  ),
  registers("other decimals", (table) => {
    table.decimals = 2;
  }),
  registers(
    "a row is there twice",
    (table) => {
      const [row] = table.rows;
      if (row !== undefined) table.rows.unshift(structuredClone(row));
    },
    "all",
  ),
  registers("rows in another order", (table) => void table.rows.reverse(), "all"),
  registers(
    "one wallet in two spellings",
    holdings((row) => {
      const [wallet] = row.wallets;
      if (wallet !== undefined)
        row.wallets.push({ ...wallet, address: upper(wallet.address), balance: "0" });
    }),
    "all",
  ),
  registers(
    "a holder's wallets that hold nothing are left out",
    (table) => {
      for (const row of table.rows) {
        if (row.holderId === null) continue;
        row.wallets = row.wallets.filter(({ balance }) => balance !== "0");
      }
    },
    "all",
  ),
  registers(
    "a holder without wallets",
    holdings((row) => {
      row.wallets = [];
    }),
    "all",
  ),
  registers(
    "a balance beyond 16 bytes",
    holdings((row) => {
      row.balance = `${2n ** 128n}`;
    }),
    "all",
  ),

  lines(STATE, "an object is left out", withoutFirst(isObject(/SharedToken/)), "command"),
  lines(STATE, "the treasury is left out", withoutFirst(isObject(/Treasury/)), "command"),
  lines(
    STATE,
    "a holder is left out",
    withoutFirst(({ aspect }) => aspect === "holder"),
    "all",
  ),
  lines(
    STATE,
    "a freeze is invented",
    (own) => [
      ...own,
      {
        kind: "membership",
        address: `0x${"e".repeat(64)}`,
        aspect: "freeze",
        value: "0",
        checkpoint: "1",
      },
    ],
    "command",
  ),
  lines(
    STATE,
    "a role is invented",
    (own) =>
      own.flatMap((line) =>
        line.kind === "role" ? [line, { ...line, owner: `0x${"e".repeat(64)}` }] : [line],
      ),
    "command",
  ),
  lines(
    STATE,
    "a role from earlier",
    firstOf(
      ({ kind }) => kind === "role",
      (line) => ({ ...line, checkpoint: "1" }),
    ),
    "command",
  ),
  lines(STATE, "a line twice", (own) => [...own.slice(0, 1), ...own], "command"),
  lines(
    STATE,
    "an object in another version",
    firstOf(isObject(/SharedToken/), (line) => ({
      ...line,
      version: `${BigInt(`${line.version}`) + 1n}`,
    })),
    "command",
  ),
  lines(
    STATE,
    "an object from another sender",
    firstOf(isObject(/SharedToken/), (line) => ({ ...line, sender: `0x${"e".repeat(64)}` })),
    "command",
  ),
  lines(
    STATE,
    "contents in base64 of another spelling",
    firstOf(isObject(/SharedToken/), (line) => ({
      ...line,
      contents: `${`${line.contents}`.replace(/=*$/, "")}=`,
    })),
  ),
  lines(
    STATE,
    "other contents",
    firstOf(isObject(/SharedToken/), (line) => ({
      ...line,
      contents: `AAAA${`${line.contents}`.slice(4)}`,
    })),
    "command",
  ),
  lines(
    STATE,
    "a type in capitals",
    firstOf(isObject(/SharedToken/), (line) => ({ ...line, type: upper(`${line.type}`) })),
  ),
  lines(
    STATE,
    "a kind that nobody knows",
    first((line) => ({ ...line, kind: "promise" })),
  ),

  lines(MOVEMENTS, "one is left out", (own) => own.slice(1)),
  lines(MOVEMENTS, "all are left out", () => []),
  lines(MOVEMENTS, "two of opposite amounts are invented", (own) => {
    const [line = {}] = own;
    const change = `${line.change}`.replace("-", "");
    return [
      ...own,
      { ...line, change, balanceAfter: change },
      { ...line, change: `-${change}`, balanceAfter: "0" },
    ];
  }),
  lines(
    MOVEMENTS,
    "another cause",
    first((line) => ({ ...line, cause: "BURN" })),
    "command",
  ),
  lines(
    MOVEMENTS,
    "a cause with a control character",
    first((line) => ({ ...line, cause: `MINT${ESCAPE}` })),
  ),
  lines(
    MOVEMENTS,
    "another time",
    first((line) => ({ ...line, timestampMs: `${BigInt(`${line.timestampMs}`) - 1n}` })),
    "command",
  ),
  lines(
    MOVEMENTS,
    "another transaction",
    first((line) => ({ ...line, txDigest: "1".repeat(32) })),
    "command",
  ),
  lines(
    MOVEMENTS,
    "an owner in capitals",
    first((line) => ({ ...line, owner: upper(`${line.owner}`) })),
  ),
  lines(MOVEMENTS, "in another order", (own) => own.toReversed()),
  lines(
    MOVEMENTS,
    "another balance behind it",
    first((line) => ({ ...line, balanceAfter: `1${line.balanceAfter}` })),
  ),
  lines(MOVEMENTS, "a change with a sign", (own) =>
    own.map((line) => ({ ...line, change: `${line.change}`.replace(/^(?!-)/, "+") })),
  ),
  lines(MOVEMENTS, "a change of minus nothing", (own) => [
    ...own,
    { ...(own.at(-1) ?? {}), change: "-0" },
  ]),
  lines(
    MOVEMENTS,
    "a member that nobody knows",
    first((line) => ({ ...line, note: "" })),
  ),
  lines(
    MOVEMENTS,
    "a text of 300 kB",
    first((line) => ({ ...line, owner: HUGE })),
  ),
  text(MOVEMENTS, "lines with CR", (own) => own.replaceAll("\n", "\r\n")),
  text(MOVEMENTS, "an empty line", (own) => `\n${own}`),
  text(MOVEMENTS, "a byte order mark", (own) => `\ufeff${own}`),
  text(MOVEMENTS, "the last line is cut", (own) => own.trimEnd()),
  text(MOVEMENTS, "members in another order", (own) =>
    own.replace(/\{("balanceAfter":"\d+"),("cause":"\w+")/, "{$2,$1"),
  ),

  lines(HOLDERS, "an event is left out", (own) => own.slice(1), "all"),
  lines(
    HOLDERS,
    "an event of another kind",
    first((line) => ({ ...line, eventType: "holder_removed" })),
    "all",
  ),
  lines(ROLES, "all are left out", () => [], "command"),
  lines(ROLES, "the first again, behind the last register", (own) => [
    ...own,
    ...own.slice(0, 1).map((event) => ({ ...event, position: `9${"0".repeat(18)}` })),
  ]),
  lines(ROLES, "the first again, from a transaction before", ([event, ...rest]) =>
    event === undefined
      ? []
      : [event, { ...event, position: `${BigInt(`${event.position}`) - 10_000n}` }, ...rest],
  ),
  lines(
    ROLES,
    "given instead of taken",
    first((line) => ({ ...line, granted: !line.granted })),
    "command",
  ),
  lines(
    ROLES,
    "another signer",
    first((line) => ({ ...line, signer: `0x${"e".repeat(64)}` })),
    "command",
  ),

  excerpts("the last one is missing", (pack, paths) => {
    pack.delete(paths.at(-1) ?? "");
    return pack;
  }),
  excerpts("two are swapped", (pack, paths) => {
    const [one = "", other = ""] = paths.slice(-2);
    const [bytesOfOne = new Uint8Array(), bytesOfOther = new Uint8Array()] = [
      pack.get(one),
      pack.get(other),
    ];
    return pack.set(one, bytesOfOther).set(other, bytesOfOne);
  }),
  excerpts("a byte behind the end", (pack, paths) => {
    const last = paths.at(-1) ?? "";
    return pack.set(last, Uint8Array.from([...(pack.get(last) ?? []), 0]));
  }),
  excerpts("an unknown field behind the end", (pack, paths) => {
    const last = paths.at(-1) ?? "";
    // Field 1000 of protobuf, three bytes.
    return pack.set(last, Uint8Array.from([...(pack.get(last) ?? []), 0xc2, 0x3e, 3, 65, 65, 65]));
  }),
  excerpts("one is empty", (pack, paths) => pack.set(paths.at(-1) ?? "", new Uint8Array())),
];

/** Of a pack with all facts of its token. */
export const FORGERIES_OF_WHOLE: readonly Forgery[] = [
  manifest(
    "a fact more",
    (own) => ({
      coinChain: own.coinChain && {
        ...own.coinChain,
        facts: `${BigInt(own.coinChain.facts) + 1n}`,
      },
    }),
    "command",
  ),
  manifest(
    "another end of the facts",
    (own) => ({ coinChain: own.coinChain && { ...own.coinChain, hash: "0".repeat(64) } }),
    "command",
  ),
  manifest("no end of the facts", () => ({ coinChain: null })),
  manifest("an end of the facts in capitals", (own) => ({
    coinChain: own.coinChain && { ...own.coinChain, hash: own.coinChain.hash.toUpperCase() },
  })),
  excerpts("the first one is missing", (pack, [path = ""]) => {
    pack.delete(path);
    return pack;
  }),
  lines(
    STATE,
    "a role is left out",
    withoutFirst(({ kind }) => kind === "role"),
    "command",
  ),
  lines(
    STATE,
    "a group is left out",
    withoutFirst(({ aspect }) => aspect === "group"),
    "all",
  ),
];

/** Of a pack whose report lists its acts: what no other file contradicts. */
export const FORGERIES_OF_ACTS: readonly Forgery[] = [
  bytes(ACTS),
  lines(ACTS, "one is left out", (own) => own.slice(1), "command"),
  lines(ACTS, "none is left", () => [], "command"),
  lines(
    ACTS,
    "another command",
    first((line) => ({ ...line, command: "status" })),
    "command",
  ),
  lines(
    ACTS,
    "an earlier time",
    first((line) => ({ ...line, at: "2020-01-01T00:00:00.000Z" })),
    "command",
  ),
];

/** Consistent, and of what nothing in a pack can prove: each is refused, or the verdict says that it is not shown. */
export const UNPROVEN: readonly (Omit<Forgery, "foundBy"> & { readonly says: RegExp })[] = [
  {
    name: "another ledger's name",
    says: /not shown: .*(ledger|chain|network)/i,
    forge: (pack, key) => {
      const { chainId } = manifestIn(pack);
      const said = "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S";
      return signedAnew(
        changed(pack, "report.md", (own) => own.replaceAll(chainId, said)),
        () => ({ chainId: said }),
        key,
      );
    },
  },
  {
    name: "one more address of the contract",
    says: /not shown: that these are the contract's addresses, and all of them/,
    forge: (pack, key) => {
      const more = `0x${"e".repeat(64)}`;
      const { packages } = manifestIn(pack);
      const last = packages.at(-1);
      return signedAnew(
        changed(pack, "report.md", (own) =>
          own
            .replaceAll(`\`${last}\``, `\`${last}\`, \`${more}\``)
            .replaceAll(`${packages.join(", ")}`, `${[...packages, more].join(", ")}`),
        ),
        () => ({ packages: [...packages, more] }),
        key,
      );
    },
  },
  {
    name: "another file of holders' names",
    says: /not shown: .*names/i,
    forge: (pack, key) => {
      const holderNames = { sha256: "1".repeat(64), size: "12" };
      const said = `The issuer's file of holders' names has the SHA-256 ${holderNames.sha256} (12 bytes); it is not here.`;
      return signedAnew(
        changed(pack, "report.md", (own) =>
          own.replace("No file of holders' names belongs to this pack.", said),
        ),
        () => ({ holderNames }),
        key,
      );
    },
  },
];
