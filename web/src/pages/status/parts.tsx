/** What is beside the pipelines: reader and source, verification, queues, EVM chains. */
import type { ReactNode } from "react";
import { Card } from "../../blocks/blocks.tsx";
import type { HealthSeen, Integrity } from "../../data/health.ts";
import { useService } from "../../data/service.tsx";
import { countText } from "../../shown/amount.ts";
import { spanText } from "../../shown/moment.ts";
import { rateOver, secondsLeft, useMoved } from "./rates.ts";
import { StateBadge } from "./state-badge.tsx";

const Lines = ({ children }: { readonly children: ReactNode }) => (
  <dl className="divide-y divide-line text-sm">{children}</dl>
);

const Line = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div className="flex items-baseline justify-between gap-4 py-1.5">
    <dt className="text-muted">{name}</dt>
    <dd className="figures text-right">{children}</dd>
  </div>
);

export const SourceCard = ({ health: { reader } }: { readonly health: HealthSeen }) => {
  const { old } = useService();
  const read = useMoved(reader.checkpoint);
  const chain = useMoved(reader.tip);
  const left = secondsLeft(reader.lag, rateOver(read, 60_000), rateOver(chain, 60_000));
  return (
    <Card title="Reader and source" actions={<StateBadge state={reader.state} />}>
      <Lines>
        <Line name="Source">
          <span className="wrap-anywhere">
            {reader.source?.source ?? "not told by any reader yet"}
          </span>
        </Line>
        <Line name="Appended to the log through">
          {reader.checkpoint === null ? "–" : countText(reader.checkpoint)}
        </Line>
        <Line name="Backlog">{reader.lag === null ? "not known here" : countText(reader.lag)}</Line>
        <Line name="Caught up in">
          {old
            ? "–"
            : reader.state === "ok"
              ? "caught up"
              : left === null
                ? "not known yet"
                : spanText(left)}
        </Line>
        <Line name="Current request waiting">
          {reader.source?.silentSeconds == null ? "–" : spanText(reader.source.silentSeconds)}
        </Line>
        {reader.source?.error == null ? null : (
          <Line name="Last trouble">
            <span className="wrap-anywhere">{reader.source.error}</span>
          </Line>
        )}
      </Lines>
    </Card>
  );
};

export const IntegrityCard = ({ integrity }: { readonly integrity: Integrity }) => {
  const ago = (seconds: number | null) =>
    seconds === null ? "not finished a round" : `${spanText(seconds)} ago`;
  return (
    <Card title="Verification" actions={<StateBadge state={integrity.state} />}>
      <Lines>
        <Line name="Signatures verified through">
          {integrity.provenThrough === null ? "not verified" : countText(integrity.provenThrough)}
        </Line>
        <Line name="Log chained through">
          {integrity.chainedThrough === null ? "–" : countText(integrity.chainedThrough)}
        </Line>
        <Line name="Log head signed through">
          {integrity.signedThrough === null ? "–" : countText(integrity.signedThrough)}
        </Line>
        <Line name="Log last checked">{ago(integrity.logCheckedSecondsAgo)}</Line>
        <Line name="Register last reconciled">{ago(integrity.sumsCheckedSecondsAgo)}</Line>
      </Lines>
    </Card>
  );
};

export const Queues = ({
  health: { callbacks, transferAgent, signers },
}: {
  readonly health: HealthSeen;
}) => (
  <Card title="Queues">
    <Lines>
      {transferAgent.map(({ asset, queued, pending, oldestSeconds, waitingLane }) => (
        <Line key={asset} name={`Requests for ${asset}`}>
          {queued + pending === 0
            ? "none open"
            : `${countText(queued)} queued, ${countText(pending)} under way, the oldest for ${spanText(oldestSeconds ?? 0)}${waitingLane === null ? "" : `; one waits: ${waitingLane}`}`}
        </Line>
      ))}
      {signers.map(({ asset, transactionsLeft }) => (
        <Line key={asset} name={`Gas of the signer of ${asset}`}>
          {`for ${countText(transactionsLeft)} transactions`}
        </Line>
      ))}
      {callbacks === null ? null : (
        <>
          <Line name="Callbacks to be delivered">
            {callbacks.pending === 0
              ? "none"
              : `${countText(callbacks.pending)}, the oldest for ${spanText(callbacks.oldestPendingSeconds)}`}
          </Line>
          <Line name="Addresses that fail, or were disabled">
            {callbacks.failing + callbacks.disabled === 0
              ? "none"
              : `${callbacks.failing} failing, ${callbacks.disabled} disabled`}
          </Line>
        </>
      )}
    </Lines>
  </Card>
);

export const Evm = ({ health: { evm } }: { readonly health: HealthSeen }) => (
  <Card title="EVM chains">
    {evm === null || evm.chains.length === 0 ? (
      <p className="text-sm text-muted">
        None is followed. Tokens of EVM chains are named in the assets file.
      </p>
    ) : (
      <Lines>
        {evm.chains.map((chain) => (
          <Line key={chain.chainId} name={`${chain.network} (${chain.chainId})`}>
            block {chain.nextBlock === null ? "–" : countText(chain.nextBlock)} of{" "}
            {chain.headBlock === null ? "–" : countText(chain.headBlock)}{" "}
            <StateBadge state={chain.state} />
            {chain.warnings.map((warning) => (
              <span key={warning} className="block text-xs text-warn">
                {warning}
              </span>
            ))}
          </Line>
        ))}
      </Lines>
    )}
  </Card>
);
