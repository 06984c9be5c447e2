/** What operators paused: a notice for each, and the button that pauses or resumes. */
import { useState } from "react";
import { Confirm } from "../controls/confirm.tsx";
import { Button, TextField } from "../controls/controls.tsx";
import type { Pause } from "../data/answers.ts";
import { type Pausable, pauseOf, usePauses, useSetPause } from "../data/pauses.ts";
import { useService } from "../data/service.tsx";
import { useSession } from "../data/session.ts";
import { Moment } from "../shown/shown.tsx";
import { AsOf, Loading } from "./answered.tsx";
import { Badge, Notice } from "./blocks.tsx";

const SUBJECTS: Readonly<Record<Pause["kind"], string>> = {
  pipeline: "Pipeline",
  asset: "Requests for",
  receiver: "Callbacks to",
};

/** "Requests for acme-sui". */
export const subjectOf = ({ kind, name }: Pausable): string => `${SUBJECTS[kind]} ${name}`;

/** What of the register a pipeline brings. */
const BRINGS: Readonly<Record<string, string>> = {
  token_activity: "movements",
  shared_token_objects: "balances, and with them cap tables and statements",
  timelock_objects: "grants",
  holder_lifecycle: "holders and their wallets; requests that wait for the register wait longer",
  role_changes: "roles",
  transfer_events: "transfers of EVM tokens, and their callbacks",
};

/** What a pause holds up, and what goes on. */
const holdsUp = ({ kind, name }: Pausable): string => {
  if (kind === "pipeline") {
    const what = BRINGS[name] === undefined ? "its rows" : BRINGS[name];
    return `Held up: ${what}. Queries are answered as of its last checkpoint and refuse later ones. All other pipelines go on.`;
  }
  return kind === "asset"
    ? "Held up: new requests are accepted and wait; none is begun. A transaction that is already signed is followed to its end. Other assets go on."
    : "Held up: callbacks to this receiver wait. No attempt is used up, and none is given up. Other receivers go on.";
};

const RESUMED: Readonly<Record<Pause["kind"], string>> = {
  pipeline: "It goes on from its last checkpoint and catches up.",
  asset: "The requests that wait are processed, each investor's in order.",
  receiver: "The callbacks that wait are sent, in order.",
};

/** For operators: pauses, or resumes what is paused, once confirmed. Nothing for other keys. */
export const PauseButton = ({
  of: what,
  waiting,
}: {
  readonly of: Pausable;
  /** How much it holds up now: "3 requests are open." */
  readonly waiting?: string | undefined;
}) => {
  const isOperator = useSession().kind === "operator";
  const { lost } = useService();
  const pauses = usePauses().data;
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const set = useSetPause(what);
  if (!isOperator) return null;
  const pause = pauseOf(pauses, what);
  const [verb, given] = pause === undefined ? ["Pause", reason.trim()] : ["Resume", ""];
  const subject = subjectOf(what);
  const close = () => {
    setAsking(false);
    setReason("");
    set.reset();
  };
  return (
    <>
      <Button
        disabled={pauses === undefined || lost}
        title={lost ? "The service does not answer" : undefined}
        aria-label={`${verb}: ${subject}`}
        onClick={() => setAsking(true)}
      >
        {verb}
      </Button>
      <Confirm
        open={asking}
        title={`${verb}: ${subject}?`}
        action={verb}
        busy={set.isPending}
        onConfirm={() =>
          set.mutate(pause !== undefined ? null : given === "" ? {} : { reason: given }, {
            onSuccess: close,
          })
        }
        onClose={close}
      >
        {pause === undefined ? (
          <>
            <p>{holdsUp(what)}</p>
            {waiting === undefined ? null : <p className="mt-2">{waiting}</p>}
            <p className="mt-2">
              Nothing is lost. The pause holds in all processes, also after a restart, until it is
              ended here or with <code>holderbook resume</code>.
            </p>
            <TextField
              label="Reason, for other operators"
              className="mt-3 text-ink"
              maxLength={500}
              autoComplete="off"
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          </>
        ) : (
          <>
            <p>
              <Since of={pause} />
            </p>
            <p className="mt-2">{RESUMED[what.kind]}</p>
          </>
        )}
        {set.error === null ? null : (
          <Notice tone="bad" title="Not changed" className="mt-3">
            {set.error.message}
          </Notice>
        )}
      </Confirm>
    </>
  );
};

/** Since when, by whom and why. */
const Since = ({ of: { since, by, reason } }: { readonly of: Pause }) => (
  <>
    Paused since <Moment at={since} /> by {by}
    {reason === null ? ", without a reason." : `: ${reason}`}
  </>
);

/** A notice for each pause of these kinds; nothing while there is none. Its room is kept while they are read. */
export const PausedNotices = ({
  kinds,
  name,
}: {
  readonly kinds: readonly Pause["kind"][];
  /** Of this name alone. */
  readonly name?: string;
}) => {
  const pauses = usePauses();
  const { data, error, isLoading } = pauses;
  const { lost } = useService();
  if (lost && data === undefined) return null;
  if (isLoading) return <Loading lines={1} />;
  if (data === undefined) {
    return error === null ? null : (
      <p role="status" className="mb-4 text-xs text-warn">
        Whether anything is paused could not be read: {error.message}
      </p>
    );
  }
  const shown = data.pauses.filter(
    (pause) => kinds.includes(pause.kind) && (name === undefined || pause.name === name),
  );
  if (shown.length === 0) return null;
  return (
    <div className="mb-4 space-y-2">
      <AsOf of={pauses} flush />
      {shown.map((pause) => (
        <Notice
          key={`${pause.kind} ${pause.name}`}
          tone="warn"
          title={`${subjectOf(pause)}: paused`}
        >
          <p className="wrap-anywhere">
            <Since of={pause} />
          </p>
          <p className="mt-1">{holdsUp(pause)}</p>
          <div className="mt-2">
            <PauseButton of={pause} />
          </div>
        </Notice>
      ))}
    </div>
  );
};

/** Beside the name of what may be paused. */
export const PausedBadge = ({ since }: { readonly since: string | null | undefined }) =>
  since == null ? null : (
    <span title={`Paused by an operator since ${since}`}>
      <Badge tone="warn">paused</Badge>
    </span>
  );
