/** Reads a register: typed queries, lists at one checkpoint, and events as they happen. */
import {
  BookError,
  type CallOptions,
  jsonOf,
  memberOf,
  NO_ANSWER,
  pause,
  pauseBefore,
  type ReadOptions,
  refusalOf,
  retrying,
  send,
} from "./asking.ts";
import { filterArguments } from "./event-filters.ts";
import { followCopy } from "./follow.ts";
import { isPlain } from "./forms.ts";
import {
  type ActivityWithHolders,
  type At,
  type Book,
  type CapTable,
  type CapTableRow,
  type ChangeWithHolder,
  type EventFilters,
  exactMembers,
  type Grant,
  type Hold,
  type Holder,
  type HolderChange,
  type HolderEvent,
  type HolderRecord,
  type Label,
  type Meta,
  type PipelineStatus,
  type RoleEvent,
  type SeriesOf,
  type StateRange,
  type Token,
  type TokenObject,
  type Wallet,
  type WalletToken,
  type Which,
} from "./register.ts";
import { eventsOf } from "./server-sent.ts";

const ROWS_PER_PAGE = 1_000;

const ATTEMPTS = 6;

/** Ms without a byte; the service sends a comment every 20 seconds. */
const SILENT_MS = 60_000;

/** Polling interval where a service offers no subscriptions. */
const POLL_MS = 2_000;

const META = `checkpoint checkpointTimestamp checkpointDigest followPosition chainId firstCheckpoint
  historyCheckpoint readFrom completeThrough seesLabels`;
const TOKEN = "coinType name symbol decimals totalSupply firstCheckpoint";
const ROW = `holderId label balance tokens granted unlocked locked share cursor
  wallets { address label balance groupId isFrozen }`;
const HIT = "kind coinType symbol holderId address txDigest eventId checkpoint timestamp label";
const LABEL = "id kind coinType holderId address role text isSealed by at cursor";
const GRANT = `objectId owner funder totalAmount leftBalance tokensTransferred commencementTimestampMs
  delayUntilFirstReleaseMs periodBetweenReleasesMs releaseCount initialReleasePortionBps
  releaseScheduleId decimals`;
const ACTIVITY = `eventId eventSeq activityType amount fromAddress toAddress signer coinType decimals
  tokenObjectId checkpoint checkpointTimestamp checkpointTimestampMs txDigest position`;
const CHANGE = `coinType owner part cause change balanceAfter checkpoint checkpointTimestamp
  checkpointTimestampMs txDigest position cursor`;
const HOLDER_EVENT = `eventId coinType eventType holderId address groupId isFrozen checkpointTimestamp
  checkpointTimestampMs position`;
const ROLE_EVENT =
  "eventId coinType owner role roleBit granted signer checkpointTimestamp checkpointTimestampMs position";
const TRANSACTION = `digest checkpoint checkpointTimestamp checkpointTimestampMs sender
  activity { ${ACTIVITY} } changes { ${CHANGE} } holderEvents { ${HOLDER_EVENT} } roleEvents { ${ROLE_EVENT} }`;
const WALLET = "address label checkpoint checkpointTimestamp";
const WALLET_TOKEN = `coinType decimals symbol name balance tokens granted holderId groupId isFrozen roles
  roleBits`;
const HOLDER_CHANGE = `cursor position checkpoint checkpointTimestamp checkpointTimestampMs txDigest wallet cause
  part change totalAfter counterparty counterpartyHolderId`;
const HOLDER = `coinType holderId label checkpoint checkpointTimestamp since balance tokens granted unlocked locked share
  wallets { address label balance tokens granted groupId isFrozen since } grants(limit: ${ROWS_PER_PAGE}) { ${GRANT} }`;
const PROGRESS = "{ checkpoint of ratePerSecond secondsLeft }";
const STATUS = `pipeline checkpoint checkpointTimestamp ageSeconds digest historyFilledThrough rebuildingTo pausedSince
  rebuilding ${PROGRESS} quarantined { coinType checkpoint reason since }
  guided { step fetched bytes objects open at last }
  backfill { at last ratePerSecond secondsLeft workers waitingRanges readRanges failedRanges failure }`;
const COLUMNS = "{ name served replayed }";
const REPLAY = `pipeline reason state begunTimestamp updatedTimestamp progress ${PROGRESS}
  comparison { checkpoint timestamp rows differences { table count rows { onlyIn key ${COLUMNS} columns ${COLUMNS} } } }`;

/** The key is refused; polling would be refused too. */
const DENIED = new Set([401, 403]);

/** The service, or a proxy, answered a subscription with something other than a stream. */
class NoStreamError extends Error {
  override readonly name = "NoStreamError";
  readonly refusal: BookError;

  constructor(refusal: BookError) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
  }
}

type Data = Readonly<Record<string, unknown>>;
type Retrying = ReadOptions & { readonly attempts?: number };
/** Arguments of a field by name: their GraphQL type and value. */
type Arguments = Readonly<Record<string, readonly [type: string, value: unknown]>>;
type Paging<Row> = Retrying & {
  /** Rows of the field's answer; default: the answer itself. */
  readonly rowsOf?: (answer: unknown) => readonly Row[] | undefined;
  readonly cursorOf: (row: Row) => string;
  /** The cursor to start after; absent: from the beginning. */
  readonly first?: string | undefined;
};
/** A result of a subscription: an event, or a hold. */
type Result = {
  readonly data: Data | null;
  readonly hold: Hold | null;
  /** Where to continue after it, unless its cursor says so. */
  readonly after: string | undefined;
};
type Following<Row> = CallOptions & {
  readonly onHold?: Which<unknown>["onHold"];
  readonly cursorOf?: (row: Row) => string;
  readonly after?: string | undefined;
  /** Fallback where the service offers no streams. */
  readonly polled: (place: string | undefined, cause: BookError) => AsyncIterable<Row>;
};
type OfToken = ReadOptions & { readonly coinType: string; readonly at?: At | undefined };

/** Null for what is neither an event nor a hold. */
const resultIn = (next: unknown): Result | null => {
  const data = memberOf(next, "data");
  const extensions = memberOf(next, "extensions");
  const after = memberOf(extensions, "after");
  const hold = memberOf(extensions, "hold");
  const place = typeof after === "string" ? after : undefined;
  if (isPlain(data)) return { data: exactMembers(data), hold: null, after: place };
  if (!isPlain(hold)) return null;
  return { data: null, hold: exactMembers(hold) as Hold, after: place };
};

/**
 * The GraphQL text of one field, and its variables. Arguments without a value are left out: earlier
 * versions of the service lack some.
 */
const documentOf = (
  kind: "query" | "subscription",
  field: string,
  args: Arguments,
  selection: string,
) => {
  const given = Object.entries(args).filter(([, [, value]]) => value !== undefined);
  const declared = given.map(([name, [type]]) => `$${name}: ${type}`).join(", ");
  const passed = given.map(([name]) => `${name}: $${name}`).join(", ");
  return {
    query: `${kind}${declared && ` (${declared})`} { ${field}${passed && `(${passed})`}${selection && ` { ${selection} }`} }`,
    variables: Object.fromEntries(given.map(([name, [, value]]) => [name, value])),
  };
};

const readOptions = ({ signal, minCheckpoint }: ReadOptions): ReadOptions => ({
  signal,
  minCheckpoint,
});

const atOf = (at: At | undefined): Arguments => {
  if (at === undefined) return {};
  if ("checkpoint" in at) return { atCheckpoint: ["String", String(at.checkpoint)] };
  return { atTimestamp: ["String", String(Math.floor(at.time.getTime() / 1_000))] };
};

/**
 * Opens a register.
 * @param service `url`: such as `https://holderbook.example`; `key`: of the kind `graphql` or
 * `operator`
 */
export const createBook = ({
  url,
  key,
  fetch = globalThis.fetch,
}: {
  readonly url: string;
  readonly key: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
}): Book => {
  const endpoint = new URL("/graphql", url).href;
  const post = (
    query: string,
    variables: Data,
    { signal, minCheckpoint }: ReadOptions,
    accept: string,
  ) =>
    send(fetch, endpoint, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept, "x-api-key": key },
        ...(minCheckpoint !== undefined && { "x-min-checkpoint": minCheckpoint.toString() }),
      },
      body: JSON.stringify({ query, variables }, (_name, value: unknown) =>
        typeof value === "bigint" ? value.toString() : value,
      ),
      signal: signal ?? null,
    });

  const ask = (
    query: string,
    variables: Data = {},
    { attempts = ATTEMPTS, ...asking }: Retrying = {},
  ): Promise<Data> => {
    const { signal } = asking;
    return retrying(attempts, signal, async () => {
      const response = await post(query, variables, asking, "application/json");
      const body = await jsonOf(response, signal);
      const data = memberOf(body, "data");
      if (!response.ok || memberOf(body, "errors") !== undefined || !isPlain(data)) {
        throw refusalOf(response, body);
      }
      return exactMembers(data);
    });
  };

  const askFor = async <Value>(
    field: string,
    args: Arguments,
    selection: string,
    asking: Retrying,
  ): Promise<Value> => {
    const { query, variables } = documentOf("query", field, args, selection);
    return (await ask(query, variables, asking))[field] as Value;
  };

  /** Pins one checkpoint, given or the newest, so that all pages of a list agree. */
  const pinned = async ({ at, ...asking }: Omit<OfToken, "coinType">): Promise<Arguments> => {
    if (at !== undefined) return atOf(at);
    const meta = await askFor<Meta | null>("_meta", {}, "checkpoint", readOptions(asking));
    if (meta?.checkpoint == null) {
      throw new BookError("nothing is indexed yet", { status: 200, code: "NOT_YET_INDEXED" });
    }
    return atOf({ checkpoint: meta.checkpoint });
  };

  async function* paged<Row>(
    field: string,
    args: Arguments,
    selection: string,
    { rowsOf = (answer) => answer as readonly Row[], cursorOf, first, ...asking }: Paging<Row>,
  ): AsyncGenerator<Row> {
    let after = first;
    for (;;) {
      const page: Arguments = { after: ["String", after], limit: ["Int", ROWS_PER_PAGE] };
      const rows = rowsOf(await askFor(field, { ...args, ...page }, selection, asking)) ?? [];
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < ROWS_PER_PAGE) return;
      after = cursorOf(last);
    }
  }

  /** @param owner GraphQL type of the argument `owner`; absent: the list has none */
  const listOf = <Row>(
    field: string,
    selection: string,
    cursorOf: (row: Row) => string,
    owner?: "String" | "String!",
  ) =>
    async function* list(
      of: OfToken & { readonly owner?: string | undefined },
    ): AsyncGenerator<Row> {
      const args: Arguments = {
        coinType: ["String!", of.coinType],
        ...(await pinned(of)),
        ...(owner && { owner: [owner, of.owner] }),
      };
      yield* paged(field, args, selection, { cursorOf, ...readOptions(of) });
    };

  const capTable: Book["capTable"] = async ({ coinType, at, holder, having, ...asking }) => {
    const args: Arguments = {
      coinType: ["String!", coinType],
      holder: ["String", holder?.toString()],
      having: ["RowsWith", having],
    };
    const selection = `coinType decimals checkpoint checkpointTimestamp checkpointDigest totalSupply issued
      holderCount root followCursor rows { ${ROW} }`;
    type Page = Omit<CapTable, typeof Symbol.asyncIterator> & {
      readonly rows: readonly CapTableRow[];
    };
    const page: Arguments = { ...atOf(at), limit: ["Int", ROWS_PER_PAGE] };
    const first = await askFor<Page | null>("capTable", { ...args, ...page }, selection, asking);
    if (first === null) return null;
    const { rows, ...totals } = first;
    return {
      ...totals,
      async *[Symbol.asyncIterator]() {
        yield* rows;
        const last = rows.at(-1);
        if (last === undefined || rows.length < ROWS_PER_PAGE) return;
        yield* paged("capTable", { ...args, ...atOf(totals) }, selection, {
          rowsOf: (answer) => (answer as Page | null)?.rows,
          cursorOf: ({ cursor }) => cursor,
          first: last.cursor,
          ...asking,
        });
      },
    };
  };

  /** Pages of a list inside a field's answer. */
  async function* nested<Row>(
    field: string,
    args: Arguments,
    {
      list,
      selection,
      cursorOf,
    }: {
      readonly list: string;
      readonly selection: string;
      readonly cursorOf: (row: Row) => string;
    },
    asking: Retrying,
  ): AsyncGenerator<Row> {
    for (let after: string | undefined; ; ) {
      const page = after === undefined ? "" : `, after: ${JSON.stringify(after)}`;
      const rows = `${list}(limit: ${ROWS_PER_PAGE}${page}) { ${selection} }`;
      const answer = await askFor<Data | null>(field, args, rows, asking);
      const found = (answer?.[list] ?? []) as readonly Row[];
      yield* found;
      const last = found.at(-1);
      if (last === undefined || found.length < ROWS_PER_PAGE) return;
      after = cursorOf(last);
    }
  }

  const secondsOf = (time: Date | undefined) =>
    time === undefined ? undefined : String(Math.floor(time.getTime() / 1_000));

  const series = <Row>(
    field: string,
    selection: string,
    { coinType, from, to, points, ...asking }: SeriesOf,
  ): Promise<Row> =>
    askFor(
      field,
      {
        coinType: ["String!", coinType],
        from: ["String", secondsOf(from)],
        to: ["String", secondsOf(to)],
        points: ["Int", points],
      },
      `checkpoint checkpointTimestamp ${selection}`,
      asking,
    );

  const holder: Book["holder"] = async ({ coinType, holderId, at, ...asking }) => {
    const of: Arguments = { coinType: ["String!", coinType], holderId: ["String!", holderId] };
    type Page = Omit<HolderRecord, "history">;
    const found = await askFor<Page | null>("holder", { ...of, ...atOf(at) }, HOLDER, asking);
    if (found === null) return null;
    return {
      ...found,
      history: () =>
        nested<HolderChange>(
          "holder",
          { ...of, ...atOf(found) },
          { list: "history", selection: HOLDER_CHANGE, cursorOf: ({ cursor }) => cursor },
          asking,
        ),
    };
  };

  const wallet: Book["wallet"] = async ({ address, at, ...asking }) => {
    const args: Arguments = { address: ["String!", address], ...atOf(at) };
    type Page = Omit<Wallet, typeof Symbol.asyncIterator>;
    const first = await askFor<Page>("wallet", args, WALLET, asking);
    return {
      ...first,
      [Symbol.asyncIterator]: () =>
        nested<WalletToken>(
          "wallet",
          { address: ["String!", address], ...atOf(first) },
          { list: "tokens", selection: WALLET_TOKEN, cursorOf: ({ coinType }) => coinType },
          asking,
        ),
    };
  };

  /** Reads one connection; returns when the service asks to reconnect. */
  async function* connection(query: string, variables: Data, signal: AbortSignal | undefined) {
    const response = await post(query, variables, { signal }, "text/event-stream");
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok || !type.startsWith("text/event-stream") || response.body === null) {
      const refusal = refusalOf(response, await jsonOf(response, signal));
      const isProxys = refusal.code === NO_ANSWER;
      if ((refusal.remedy === "retry" && !isProxys) || DENIED.has(response.status)) throw refusal;
      throw new NoStreamError(refusal);
    }
    const limits = { signal, silentMs: SILENT_MS };
    for await (const { event, data } of eventsOf(response.body, limits)) {
      if (event === "complete") return;
      if (event !== "next") continue;
      const next: unknown = JSON.parse(data);
      const errors = memberOf(next, "errors");
      const result = errors === undefined ? resultIn(next) : null;
      if (result !== null) {
        yield result;
        continue;
      }
      const error: unknown = Array.isArray(errors) ? errors[0] : undefined;
      const code = String(memberOf(memberOf(error, "extensions"), "code") ?? "");
      if (code === "RECONNECT" || code === "SLOW_CONSUMER") return;
      const message = String(memberOf(error, "message") ?? "the subscription ended");
      throw new BookError(message, { status: 200, code });
    }
  }

  /** Endless events from a place; reconnects after the last one delivered. */
  async function* followed<Row>(
    field: string,
    args: Arguments,
    selection: string,
    { cursorOf, after, signal, onHold, polled }: Following<Row>,
  ): AsyncGenerator<Row> {
    let place = after;
    let hasStreamed = false;
    for (let failures = 0; ; ) {
      const placed: Arguments = { ...args, after: ["String", place] };
      const { query, variables } = documentOf("subscription", field, placed, selection);
      try {
        for await (const { data, hold, after: said } of connection(query, variables, signal)) {
          failures = 0;
          hasStreamed = true;
          if (hold !== null) await onHold?.(hold);
          const row = data === null ? null : (data[field] as Row);
          place = said ?? (row === null ? undefined : cursorOf?.(row)) ?? place;
          if (row !== null) yield row;
        }
        // An orderly end, such as an upgrade: reconnect soon, slower if it repeats.
        signal?.throwIfAborted();
        await pause(pauseBefore(failures), signal);
      } catch (error) {
        signal?.throwIfAborted();
        const refusal = error instanceof NoStreamError ? error.refusal : error;
        if (error instanceof NoStreamError && !(hasStreamed && error.refusal.code === NO_ANSWER)) {
          // If the query itself is at fault, polling is refused too.
          yield* polled(place, error.refusal);
          return;
        }
        if (!(refusal instanceof BookError) || refusal.remedy !== "retry") throw error;
        await pause(pauseBefore(failures, refusal), signal);
      }
      failures += 1;
    }
  }

  const events = <Row, Cursor>(
    field: string,
    selected: string,
    {
      cursorOf,
      beginning,
      holders: ofHolders = "",
      typesOf = "[String!]",
    }: {
      readonly cursorOf: (row: Row) => string;
      readonly beginning: string;
      /** Fields that are read when holders are asked for. */
      readonly holders?: string;
      /** GraphQL type of the argument `types`. */
      readonly typesOf?: string;
    },
  ) =>
    async function* each({
      coinType,
      coinTypes,
      after,
      follow = true,
      signal,
      onHold,
      holders = false,
      ...filters
    }: Which<Cursor> & EventFilters & { readonly holders?: boolean }): AsyncGenerator<Row> {
      const isOne = coinType !== undefined;
      if (!isOne && !follow) {
        throw new BookError("a list is of one coinType; several, or all, can be followed", {
          code: "BAD_USER_INPUT",
        });
      }
      const args: Arguments = {
        coinType: ["String!", coinType],
        coinTypes: ["[String!]", coinTypes],
        owner: ["String", filters.owner],
        ...filterArguments(filters, typesOf, follow),
      };
      const selection = holders ? `${selected} ${ofHolders}` : selected;
      if (filters.order === "DESC") {
        const first = after === undefined ? undefined : String(after);
        yield* paged(field, args, selection, { cursorOf, signal, first });
        return;
      }
      const place = after === undefined ? beginning : String(after);
      if (!follow) {
        yield* paged(field, args, selection, { cursorOf, signal, first: place });
        return;
      }
      const polled = async function* polled(from: string | undefined, cause: BookError) {
        // Lists are of one coin.
        if (!isOne) throw cause;
        for (let first = from; ; ) {
          const endless = { cursorOf, signal, first, attempts: Number.POSITIVE_INFINITY };
          for await (const row of paged(field, args, selection, endless)) {
            first = cursorOf(row);
            yield row;
          }
          await pause(POLL_MS, signal);
        }
      };
      yield* followed(field, args, selection, { cursorOf, after: place, signal, onHold, polled });
    };

  const byPosition = {
    cursorOf: ({ position }: { readonly position: bigint }) => position.toString(),
    beginning: "0",
  };

  const statusNow = (asking: Retrying) =>
    askFor<readonly PipelineStatus[]>("indexerStatus", {}, STATUS, asking);

  const ofToken = <Value>(
    { at, coinType, owner, ...asking }: OfToken & { readonly owner?: string },
    field: string,
    selection: string,
  ): Promise<Value> => {
    const args: Arguments = { coinType: ["String!", coinType], owner: ["String!", owner] };
    return askFor(field, { ...args, ...atOf(at) }, selection, asking);
  };

  const balanceChanges = events<ChangeWithHolder, string>("balanceChanges", CHANGE, {
    cursorOf: ({ cursor }) => cursor,
    holders: "holderId",
    typesOf: "[BalanceChangeCause!]",
    beginning: "0:0x0:TOKENS",
  });

  return {
    ask,
    meta: ({ at, ...asking } = {}) => askFor("_meta", atOf(at), META, asking),
    token: (of) => ofToken(of, "token", `${TOKEN} holderCount ownerCount`),
    pipelineDigest: ({ pipeline, checkpoint, ...asking }) =>
      askFor(
        "pipelineDigest",
        { pipeline: ["String!", pipeline], atCheckpoint: ["String!", checkpoint] },
        "",
        asking,
      ),
    tokens: (asking = {}) =>
      paged<Token>("tokens", {}, TOKEN, { cursorOf: ({ coinType }) => coinType, ...asking }),
    status: (asking = {}) => statusNow(asking),
    replays: (asking = {}) => askFor("replays", {}, REPLAY, asking),
    balance: (of) =>
      ofToken(
        of,
        "tokenBalance",
        "owner balance timelockBalance objectCount timelockCount timelocksIncluded decimals",
      ),
    completeness: ({ coinType, ...asking }) =>
      askFor(
        "completeness",
        { coinType: ["String!", coinType] },
        "coinType state through provenAt isSigned missingFrom reason since",
        asking,
      ),
    roles: (of) => ofToken(of, "walletRoles", "owner roles roleBits"),
    search: ({ text, limit, ...asking }) =>
      askFor("search", { text: ["String!", text], limit: ["Int", limit] }, HIT, asking),
    labels: ({ coinType, ...asking } = {}) =>
      paged<Label>("labels", { coinType: ["String", coinType] }, LABEL, {
        cursorOf: ({ cursor }) => cursor,
        ...asking,
      }),
    transaction: ({ digest, ...asking }) =>
      askFor("transaction", { digest: ["String!", digest] }, TRANSACTION, asking),
    holder,
    supply: (of) => series("supply", "totalSupply", of),
    holderCounts: (of) => series("holderCounts", "holders owners", of),
    wallet,
    capTable,
    holders: listOf<Holder>(
      "tokenHolders",
      "owner balance timelockBalance timelocksIncluded",
      ({ balance, owner }) => `${balance}:${owner}`,
    ),
    objects: listOf<TokenObject>(
      "tokenObjects",
      "objectId owner balance version checkpoint",
      ({ objectId }) => objectId,
      "String!",
    ),
    grants: listOf<Grant>(
      "tokenTimelocks",
      GRANT,
      ({ commencementTimestampMs, objectId }) => `${commencementTimestampMs}:${objectId}`,
      "String",
    ),
    stateRanges: ({ kind, coinType, checkpoint, ...asking }) =>
      paged<StateRange>(
        "stateRanges",
        {
          kind: ["StateKind!", kind],
          coinType: ["String!", coinType],
          atCheckpoint: ["String!", checkpoint],
        },
        "checkpoint until line cursor",
        { cursorOf: ({ cursor }) => cursor, ...asking },
      ),
    tokenActivity: events<ActivityWithHolders, bigint>("tokenActivity", ACTIVITY, {
      ...byPosition,
      holders: "fromHolderId toHolderId",
    }),
    holderEvents: events<HolderEvent, bigint>("holderEvents", HOLDER_EVENT, byPosition),
    roleEvents: events<RoleEvent, bigint>("roleEvents", ROLE_EVENT, byPosition),
    balanceChanges,
    follow: (of) => followCopy({ capTable, balanceChanges }, of),
    statusChanges: ({ signal } = {}) => {
      const polled = async function* polled() {
        for (let before: string | undefined; ; ) {
          const now = await statusNow({ signal, attempts: Number.POSITIVE_INFINITY });
          const marks = now.map(({ pipeline, checkpoint }) => `${pipeline} ${checkpoint}`).join();
          if (marks !== before) yield now;
          before = marks;
          await pause(POLL_MS, signal);
        }
      };
      return followed<readonly PipelineStatus[]>("indexerStatus", {}, STATUS, { signal, polled });
    },
  };
};
