/** The cap table, now or at any time: holders, concentration, and two dates compared. */
import { Link, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { Answered, OfToken } from "../../blocks/answered.tsx";
import {
  Badge,
  Card,
  Empty,
  Fact,
  Facts,
  Figure,
  Figures,
  PageHead,
} from "../../blocks/blocks.tsx";
import { useFind } from "../../blocks/find.ts";
import { Button, Chip, Download, TextField } from "../../controls/controls.tsx";
import { When } from "../../controls/when.tsx";
import { pathWith } from "../../data/ask.ts";
import { subjectOf, useLabels } from "../../data/labels.ts";
import { useMomentMs } from "../../data/moment.ts";
import { useService } from "../../data/service.tsx";
import {
  keepTokenWith,
  type Token,
  tokenLabel,
  tokenName,
  useChangeAddress,
  useTokenTime,
} from "../../data/tokens.ts";
import { largest } from "../../register/concentration.ts";
import { matches, type Register, useRegister } from "../../register/register.ts";
import { countText, shareText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { Ago, Moment } from "../../shown/shown.tsx";
import { Compare } from "./compare.tsx";
import { Concentration } from "./concentration.tsx";
import { History } from "./history.tsx";
import { Holders } from "./holders.tsx";

const VIEWS = [
  { show: undefined, label: "Holders" },
  { show: "concentration", label: "Concentration" },
  { show: "history", label: "Over time" },
  { show: "compare", label: "Compare two dates" },
] as const;

const CapTablePage = () => <OfToken>{(token) => <CapTable token={token} />}</OfToken>;

const CapTable = ({ token }: { readonly token: Token }) => {
  const search = useSearch({ from: "/cap-table" });
  const { at, show } = search;
  const register = useRegister(token.coinType, at);
  const { from, to } = useTokenTime(token.coinType);
  const { data, loading } = register;
  const isPast = at !== undefined;
  const atMs = useMomentMs(at);
  const { lost } = useService();
  return (
    <>
      <PageHead
        title="Cap table"
        checkpoint={data?.checkpoint}
        about={
          <>
            {tokenName(token)}
            {at !== undefined ? (
              <> at {atMs === undefined ? null : <Moment at={atMs} />}</>
            ) : lost ? null : data?.isLong ? (
              <>
                {" "}
                as of <Moment at={data.timeMs} />
              </>
            ) : (
              ", now"
            )}
          </>
        }
      >
        <Downloads register={data ?? null} label={tokenLabel(token)} />
      </PageHead>
      <div className="mb-4 flex flex-col items-start gap-3">
        <When name="at" label="At" at={at} from={from} to={to} />
        <Views />
      </div>
      <Answered
        of={register}
        what={isPast ? "The register at that time" : "The register"}
        lines={8}
        card
        waiting={
          loading !== null && loading.of > loading.rows ? (
            <p className="pt-4 text-center text-sm text-muted" role="status">
              {countText(loading.rows)} of {countText(loading.of)} rows loaded
            </p>
          ) : null
        }
      >
        {(found) =>
          found === null || found.rows.length === 0 ? (
            <Card>
              <Empty title={isPast ? "No holders at this time" : "No holders"}>
                {isPast
                  ? "Choose a later time, or now."
                  : "The token was created, but nothing was issued yet."}
              </Empty>
            </Card>
          ) : (
            <div className="space-y-4">
              <Sums token={token} register={found} />
              {show === "concentration" ? (
                <Concentration token={token} register={found} />
              ) : show === "history" ? (
                <History token={token} register={found} />
              ) : show === "compare" ? (
                <Compare token={token} register={found} />
              ) : (
                <HoldersCard token={token} register={found}>
                  {register.isLong && !isPast ? (
                    <Button disabled={register.isFetching} onClick={() => void register.refetch()}>
                      {register.isFetching ? "Loading…" : "Refresh"}
                    </Button>
                  ) : null}
                </HoldersCard>
              )}
              <Evidence register={found} />
            </div>
          )
        }
      </Answered>
    </>
  );
};

const FORMATS = [
  { format: "csv", label: "CSV", title: "For a spreadsheet: amounts in tokens" },
  {
    format: "csv-zip",
    label: "CSV + proof",
    title: "The CSV with checkpoint, digest, total and root",
  },
  { format: "pdf", label: "PDF", title: "Pages to print and file, of at most 2,000 rows" },
  { format: "json", label: "JSON", title: "For programs: amounts in the smallest unit" },
  { format: "ocf", label: "OCF", title: "Open Cap Format, for cap-table software" },
] as const;

/** Files of the register at the checkpoint in view. */
const Downloads = ({
  register,
  label,
}: {
  /** Null until it is known: the buttons keep their room. */
  readonly register: Register | null;
  /** Of the token. */
  readonly label: string;
}) => (
  <fieldset
    className="flex flex-wrap items-center gap-2"
    aria-label={`Download the cap table of ${label}`}
  >
    {FORMATS.map(({ format, label: name, title }) => (
      <Download
        key={format}
        title={title}
        disabled={register === null}
        path={pathWith("/exports/cap-table", {
          coinType: register?.coinType,
          atCheckpoint: register?.checkpoint,
          format,
        })}
      >
        {name}
      </Download>
    ))}
  </fieldset>
);

const Views = () => {
  const { show: chosen, ...search } = useSearch({ from: "/cap-table" });
  return (
    <nav
      aria-label="Views of the cap table"
      className="flex flex-wrap gap-1 rounded-lg bg-sunken p-0.5"
    >
      {VIEWS.map(({ show, label }) => (
        <Link
          key={label}
          to="/cap-table"
          search={show === undefined ? search : { ...search, show }}
          aria-current={show === chosen ? "page" : undefined}
          className={`rounded-md px-2.5 py-1 text-sm ${show === chosen ? "bg-surface font-medium shadow-sm" : "text-muted hover:text-ink"}`}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
};

const Sums = ({
  token: { symbol },
  register,
}: {
  readonly token: Token;
  readonly register: Register;
}) => {
  const { issued, decimals, holderCount, totalSupply, rows } = register;
  const ten = useMemo(
    () => largest({ rows }).find(({ count }) => count >= 10 || count === rows.length),
    [rows],
  );
  const locked = useMemo(() => rows.reduce((sum, row) => sum + row.locked, 0n), [rows]);
  const adds = totalSupply === null || totalSupply === issued;
  return (
    <Figures>
      <Figure
        label="Issued"
        value={<Amount units={issued} decimals={decimals} symbol={symbol} />}
        about={
          totalSupply === null
            ? "the treasury has not been seen"
            : adds
              ? "matches the on-chain supply"
              : "differs from the on-chain supply"
        }
        tone={adds ? "plain" : "bad"}
      />
      <Figure
        label="Holders"
        value={countText(holderCount)}
        about="including wallets without a holder"
      />
      <Figure
        label={`Largest ${ten?.count ?? 0} hold`}
        value={ten === undefined ? "–" : shareText(ten.held, issued)}
        about="of the issued tokens"
      />
      <Figure
        label="Locked in grants"
        value={<Amount units={locked} decimals={decimals} symbol={symbol} />}
        about={`${shareText(locked, issued)} of the issued tokens`}
      />
    </Figures>
  );
};

const HoldersCard = ({
  token,
  register,
  children,
}: {
  readonly token: Token;
  readonly register: Register;
  /** Before the filters. */
  readonly children: ReactNode;
}) => {
  const [sought, setSought] = useFind();
  const search = useSearch({ from: "/cap-table" });
  const change = useChangeAddress();
  const { labelOf } = useLabels(token.coinType);
  const only = search.only === "frozen" || search.only === "loose" ? search.only : "all";
  const rows = useMemo(
    () =>
      register.rows.filter(
        (row) =>
          matches(row, sought, labelOf(subjectOf(row))?.text ?? undefined) &&
          (only === "all" ||
            (only === "loose" && row.holderId === null) ||
            (only === "frozen" && row.wallets.some(({ isFrozen }) => isFrozen))),
      ),
    [register.rows, sought, only, labelOf],
  );
  const chip = (value: typeof only, label: string) => (
    <Chip
      pressed={only === value}
      onClick={() => change({ only: value === "all" ? undefined : value })}
    >
      {label}
    </Chip>
  );
  return (
    <Card
      flush
      title={
        rows.length === register.rows.length
          ? `${countText(rows.length)} rows`
          : `${countText(rows.length)} of ${countText(register.rows.length)} rows`
      }
      about="Each row is a holder with all its wallets, or a wallet without a holder"
      actions={
        <div className="flex flex-wrap items-end gap-2">
          {children}
          {chip("all", "All")}
          {chip("frozen", "Frozen")}
          {chip("loose", "Without a holder")}
          <TextField
            label="Search"
            placeholder="Holder number or wallet"
            type="search"
            className="w-56"
            value={sought}
            onChange={(event) => setSought(event.target.value)}
          />
        </div>
      }
    >
      <Holders token={token} register={register} rows={rows} />
    </Card>
  );
};

/** The checkpoint of the figures, for checking them against the ledger. */
const Evidence = ({ register }: { readonly register: Register }) => (
  <Card title="Source of these figures">
    <Facts>
      <Fact name="Checkpoint">
        <Link
          to="/proof"
          search={keepTokenWith({ checkpoint: register.checkpoint })}
          className="text-accent underline"
        >
          {countText(register.checkpoint)}
        </Link>{" "}
        <Badge>
          <Ago at={register.timeMs} />
        </Badge>
      </Fact>
      <Fact name="Checkpoint time">
        <Moment at={register.timeMs} />
      </Fact>
      <Fact name="Checkpoint digest">
        <LongId text={register.checkpointDigest} what="digest" head={10} tail={6} />
      </Fact>
      <Fact name="Root of all rows">
        <LongId text={register.root} what="root" head={10} tail={6} />
      </Fact>
      <Fact name="Coin type">
        <LongId text={register.coinType} what="coin type" head={12} tail={18} />
      </Fact>
    </Facts>
  </Card>
);

export default CapTablePage;
