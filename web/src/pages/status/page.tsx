/** Whether everything keeps up, live; if not, what is wrong and what to do. */
import { useSearch } from "@tanstack/react-router";
import { Answered } from "../../blocks/answered.tsx";
import { Figure, Figures, Notice, PageHead } from "../../blocks/blocks.tsx";
import { PausedNotices } from "../../blocks/pauses.tsx";
import {
  type Health,
  noteText,
  quarantinesOf,
  stalledParts,
  useHealth,
  withNewer,
} from "../../data/health.ts";
import { useLive } from "../../data/live.ts";
import { useService } from "../../data/service.tsx";
import { useSession } from "../../data/session.ts";
import { tokenLabel } from "../../data/tokens.ts";
import { countText, mostOf } from "../../shown/amount.ts";
import { CopyButton } from "../../shown/copied.tsx";
import { Gone } from "./gone.tsx";
import { History } from "./history.tsx";
import { Evm, IntegrityCard, Queues, SourceCard } from "./parts.tsx";
import { EndedPauses } from "./pauses.tsx";
import { Pipelines } from "./pipelines.tsx";
import { useSamples } from "./rates.ts";
import { remedyOf } from "./remedies.ts";
import { Replays } from "./replays.tsx";

/** The stream moves the checkpoints; the rest is refreshed so often. */
const REFRESH_MS = 15_000;

const StatusPage = () => {
  const health = useHealth(REFRESH_MS);
  const live = useLive();
  const { lost } = useService();
  const samples = useSamples(live);
  const { kind } = useSession();
  const { pipeline } = useSearch({ from: "/status" });
  const data = health.data && withNewer(health.data, live.pipelines);
  return (
    <>
      <PageHead
        title="Status"
        about={
          lost
            ? "As last reported"
            : live.state === "live"
              ? "Live: figures move as the service does"
              : "Connecting to the live updates"
        }
      />
      <Gone />
      {kind === "operator" ? <PausedNotices kinds={["pipeline", "asset", "receiver"]} /> : null}
      {lost && data === undefined ? null : (
        <Answered of={{ ...health, data }} what="The status" lines={8} card>
          {(now) => (
            <div className="space-y-4">
              <Verdict health={now} />
              <Summary health={now} />
              <Pipelines health={now} samples={samples} />
              <History pipeline={pipeline} />
              <Replays />
              <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
                <SourceCard health={now} />
                <IntegrityCard health={now} />
                <Queues health={now} />
                <Evm health={now} />
              </div>
              <EndedPauses />
            </div>
          )}
        </Answered>
      )}
    </>
  );
};

const OF_PAUSES = / paused by an operator$/;

/** Every problem with what to do. */
const Verdict = ({ health }: { readonly health: Health }) => {
  const { reader } = health;
  const isOperator = useSession().kind === "operator";
  // Operators see each pause with its reason, and a button.
  const notes = (health.notes ?? []).filter(
    ({ reason }) => !(isOperator && OF_PAUSES.test(reason)),
  );
  const parts = stalledParts(health);
  const held = quarantinesOf(health);
  const doubts = reader.state === "unknown" ? [reader.reason] : [];
  if (parts.length + doubts.length + notes.length + held.length === 0) return null;
  return (
    <div className="space-y-2">
      {held.map((token) => (
        <HeldToken key={`${token.coinType} ${token.isIncomplete}`} token={token} />
      ))}
      {doubts.map((reason) => (
        <Notice key="reader" tone="warn" title="The chain's newest checkpoint is unknown">
          {reason ?? "No process reports how far it has read."} Check that the indexing process is
          running.
        </Notice>
      ))}
      {notes.map(noteText).map((note) => (
        <Notice key={note} tone="warn" title="Worth checking">
          {note}
        </Notice>
      ))}
      {parts.map(({ name, reason }) => (
        <Notice key={name} tone="bad" title={`${name} is stalled`}>
          <p className="break-words">{reason ?? "It has work but makes no progress."}</p>
          <p className="mt-1">
            <strong>What to do:</strong> {remedyOf(name, reason ?? "")}
          </p>
        </Notice>
      ))}
    </div>
  );
};

const HeldToken = ({
  token: { coinType, checkpoint = 0n, reasons, isIncomplete },
}: {
  readonly token: ReturnType<typeof quarantinesOf>[number];
}) => {
  const { state, advice, command } = isIncomplete
    ? {
        state: "incomplete",
        advice:
          "Its newest proof, or guided reading, found that this was not read. To see all that is missing, and to prove it again with another node in INDEX_SOURCE, run:",
        command: `holderbook prove complete --coin '${coinType}'`,
      }
    : {
        state: "in quarantine",
        advice: "Once a version of Holderbook can apply this fact, run:",
        command: `holderbook quarantine retry ${coinType}`,
      };
  return (
    <Notice
      tone="warn"
      title={`${tokenLabel({ coinType, symbol: null })} is ${state} since checkpoint ${countText(checkpoint)}`}
    >
      {reasons.map((reason) => (
        <p key={reason} className="break-words">
          {reason}
        </p>
      ))}
      <p className="mt-1">All other tokens go on. {advice}</p>
      <p className="mt-1">
        <code className="break-all">{command}</code>
        <CopyButton text={command} what="the command" />
      </p>
    </Notice>
  );
};

const Summary = ({ health }: { readonly health: Health }) => {
  const { reader, pipelines, details } = health;
  const { state } = useService();
  const behind = mostOf(pipelines.map(({ lagCheckpoints }) => BigInt(lagCheckpoints ?? 0)));
  const proven = details?.integrity?.log.provenThrough;
  return (
    <Figures>
      <Figure
        label="Overall"
        value={state.word}
        tone={state.tone}
        about={state.detail ?? `version ${health.version}`}
      />
      <Figure
        label="Read from the chain"
        value={reader.checkpoint === null ? "nothing yet" : countText(reader.checkpoint)}
        about={
          reader.tip === null
            ? "the chain's newest checkpoint is unknown"
            : `newest on the chain: ${countText(reader.tip)}`
        }
      />
      <Figure
        label="Lag of the slowest pipeline"
        value={countText(behind)}
        about="checkpoints behind the log"
        tone={behind > 100n ? "warn" : "plain"}
      />
      <Figure
        label="Signatures verified through"
        value={proven == null ? "–" : countText(proven)}
        about="checkpoint, signed by the validators"
      />
    </Figures>
  );
};

export default StatusPage;
