/**
 * A coin's states range by range, as digests have them: objects, grants, memberships, roles,
 * supplies. For page-by-page comparison with another register.
 */
import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { type Parameter, type Reads, read } from "../database/readers.ts";
import { checkpointLines, LINES, type LineKind } from "./digest-lines.ts";
import { membershipRangesTable } from "./memberships.ts";
import { FOR_GRANTS, FOR_HOLDERS, FOR_ROLES, FOR_TOKEN_OBJECTS } from "./needed.ts";
import { STILL_OPEN } from "./ranges.ts";
import { roleRangesTable } from "./roles.ts";
import { sharedTokenObjectsTable, sharedTokenRangesTable } from "./shared-token-objects.ts";
import { timelockObjectsTable, timelockRangesTable } from "./timelock-objects.ts";
import { tokenSuppliesTable } from "./tokens.ts";

export const STATE_KINDS = ["TOKEN", "GRANT", "MEMBERSHIP", "ROLE", "SUPPLY"] as const;
export type StateKind = (typeof STATE_KINDS)[number];

/** A state that held over checkpoints [`checkpoint`, `until`). */
export type StateRange = {
  /** As in digests (digest-lines.ts), without the LF. */
  readonly line: string;
  readonly checkpoint: bigint;
  /** Null while it held at the requested checkpoint. */
  readonly until: bigint | null;
  /** Its cursor in the list. */
  readonly place: readonly string[];
};

/** A cursor column and its SQL type. */
type Ordering = { readonly column: string; readonly type: "text" | "numeric" | "int8" };

type RangeList = {
  readonly of: LineKind;
  /** Live rows have held since `checkpoint` and have no `until`. */
  readonly tables: readonly { readonly table: PgTable; readonly isLive: boolean }[];
  /** Columns of an index behind the coin type; live rows use `until`, too. */
  readonly order: readonly Ordering[];
};

const text = (column: string): Ordering => ({ column, type: "text" });
const checkpointOrder: Ordering = { column: "checkpoint", type: "int8" };
const untilOrder: Ordering = { column: "until", type: "int8" };

const LISTS: Readonly<Record<StateKind, RangeList>> = {
  TOKEN: {
    of: LINES.token,
    tables: [
      { table: sharedTokenObjectsTable, isLive: true },
      { table: sharedTokenRangesTable, isLive: false },
    ],
    order: [text("owner"), text("object_id"), untilOrder],
  },
  GRANT: {
    of: LINES.grant,
    tables: [
      { table: timelockObjectsTable, isLive: true },
      { table: timelockRangesTable, isLive: false },
    ],
    order: [
      { column: "commencement_timestamp_ms", type: "numeric" },
      text("object_id"),
      untilOrder,
    ],
  },
  MEMBERSHIP: {
    of: LINES.membership,
    tables: [{ table: membershipRangesTable, isLive: false }],
    order: [text("address"), text("aspect"), checkpointOrder],
  },
  ROLE: {
    of: LINES.role,
    tables: [{ table: roleRangesTable, isLive: false }],
    order: [text("owner"), text("role"), checkpointOrder],
  },
  SUPPLY: {
    of: LINES.supply,
    tables: [{ table: tokenSuppliesTable, isLive: true }],
    order: [checkpointOrder],
  },
};

/** Pipelines that a list needs. */
export const NEEDED_BY = {
  TOKEN: FOR_TOKEN_OBJECTS,
  GRANT: FOR_GRANTS,
  MEMBERSHIP: FOR_HOLDERS,
  ROLE: FOR_ROLES,
  SUPPLY: FOR_TOKEN_OBJECTS,
} as const;

const pageOf = ({ of, tables, order }: RangeList): string => {
  const places = order.map((_, index) => `place_${index}`).join(", ");
  const selects = tables.map(({ table, isLive }) => {
    const columns = getTableColumns(table);
    const values = of.names.map((name) => `${columns[name]?.name} as "${name}"`);
    const until = isLive ? `${STILL_OPEN}` : "until";
    const own = order.map(({ column }) => (column === "until" ? until : column));
    const given = order.map(({ type }, index) => `$${index + 4}::${type}`);
    const sorted = order.flatMap(({ column }) => (column === "until" && isLive ? [] : [column]));
    const name = getTableName(table);
    return `
      (select ${values.join(", ")}, checkpoint as "_checkpoint", ${until}::int8 as "_until",
              ${own.map((column, index) => `${column} as place_${index}`).join(", ")}
       from ${name}
       where coin_type = $1 and checkpoint <= $3 and (${own.join(", ")}) > (${given.join(", ")})
       order by ${sorted.map((column) => `${name}.${column}`).join(", ")} limit (select $2::int8))`;
  });
  return `select * from (${selects.join(" union all ")}) as ranges
    order by ${places} limit (select $2::int8)`;
};

const PAGES: Readonly<Record<StateKind, string>> = {
  TOKEN: pageOf(LISTS.TOKEN),
  GRANT: pageOf(LISTS.GRANT),
  MEMBERSHIP: pageOf(LISTS.MEMBERSHIP),
  ROLE: pageOf(LISTS.ROLE),
  SUPPLY: pageOf(LISTS.SUPPLY),
};

const LARGEST_INT8 = 2n ** 63n - 1n;

/** Whether these values are a valid cursor of the list, castable by Postgres. */
export const isPlace = (kind: StateKind, place: readonly string[]): boolean => {
  const { order } = LISTS[kind];
  return (
    place.length === order.length &&
    order.every(({ type }, index) => {
      const value = place[index] ?? "";
      if (type === "text") return !value.includes("\0");
      if (!/^\d{1,20}$/.test(value)) return false;
      return type === "numeric" || BigInt(value) <= LARGEST_INT8;
    })
  );
};

const before = (kind: StateKind): readonly Parameter[] =>
  LISTS[kind].order.map(({ type }) => (type === "text" ? "" : "-1"));

type Stored = Readonly<Record<string, unknown>> & {
  readonly _checkpoint: bigint;
  readonly _until: bigint;
};

/**
 * Ranges begun by the end of a checkpoint, by key; empty for an unknown coin type. A range that
 * ended later shows as open.
 * @param after the place of the last row seen
 */
export const stateRanges = async (
  on: Reads,
  query: {
    readonly kind: StateKind;
    readonly coinType: string;
    readonly at: bigint;
    readonly limit: number;
    readonly after?: readonly string[] | undefined;
  },
): Promise<StateRange[]> => {
  const { kind, coinType, at, limit, after } = query;
  const { of, order } = LISTS[kind];
  const given = [coinType, limit, at, ...(after ?? before(kind))];
  const rows = await read<Stored>(on, PAGES[kind], given);
  return rows.map((row) => {
    const [line] = checkpointLines(of, [{ ...row, checkpoint: row._checkpoint }]);
    return {
      line: (line?.text ?? "").trimEnd(),
      checkpoint: row._checkpoint,
      until: row._until > at ? null : row._until,
      place: order.map((_, index) => String(row[`place_${index}`])),
    };
  });
};
