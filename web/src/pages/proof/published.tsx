/** What the service says and signs about its own contents, for others to keep and compare. */
import type { ReactNode } from "react";
import { Answered, type Asked } from "../../blocks/answered.tsx";
import { Badge, Card, Empty } from "../../blocks/blocks.tsx";
import { pathWith } from "../../data/operator.ts";
import {
  type CheckpointProof,
  type LogHead,
  readDeploymentKeys,
  readLogHeads,
  readRoots,
} from "../../data/proof.ts";
import { usePath } from "../../data/queries.ts";
import { tokenLabel, useToken } from "../../data/tokens.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { Moment } from "../../shown/shown.tsx";
import { contentsOf } from "./verified.ts";

/** Of each list the newest; more are at the paths themselves. */
const SHOWN = 8;

export const PipelineDigests = ({ proof }: { readonly proof: CheckpointProof }) => (
  <Card
    title="Register digests at this checkpoint"
    about="One digest over all rows of each kind. Two deployments with equal digests have equal registers."
    flush
  >
    <Lines>
      {proof.pipelineDigests.map(({ pipeline, digest }) => (
        <Line key={pipeline} name={contentsOf(pipeline)} about={pipeline}>
          {digest === null ? (
            <span className="text-muted">not known yet</span>
          ) : (
            <LongId text={digest} what={`digest of ${pipeline}`} head={16} tail={8} />
          )}
        </Line>
      ))}
    </Lines>
  </Card>
);

export const Published = ({ checkpoint }: { readonly checkpoint: string }) => (
  <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
    <Roots />
    <LogHeads checkpoint={checkpoint} />
    <div className="lg:col-span-2">
      <Keys />
    </div>
  </div>
);

const Roots = () => {
  const token = useToken();
  const asked = usePath(
    pathWith("/roots", { coinType: token?.coinType, limit: String(SHOWN) }),
    readRoots,
    { enabled: token !== null },
  );
  return (
    <Card
      title={`Published roots${token === null ? "" : ` of ${tokenLabel(token)}`}`}
      about="Each stands for a whole cap table, and is signed. A statement refers to one."
      flush
    >
      <Listing
        asked={asked}
        what="The roots"
        empty="One is published whenever a statement or an audit pack is made."
      >
        {(roots) =>
          roots.map(({ checkpoint, root, total, signedAtMs }) => (
            <Line
              key={checkpoint}
              name={`Checkpoint ${countText(checkpoint)}`}
              about={<Moment ms={signedAtMs} />}
            >
              <LongId text={root} what="root" head={10} tail={6} />
              <span className="text-xs text-muted">
                of{" "}
                <Amount
                  units={total}
                  decimals={token?.decimals ?? null}
                  symbol={token?.symbol ?? null}
                />
              </span>
            </Line>
          ))
        }
      </Listing>
    </Card>
  );
};

const LogHeads = ({ checkpoint }: { readonly checkpoint: string }) => {
  const asked = usePath(pathWith("/log-heads", { limit: String(SHOWN) }), readLogHeads);
  return (
    <Card
      title="Log heads"
      about="Each covers every fact that was read up to its checkpoint. Keep some elsewhere: one that vanishes or changes shows that the past was altered."
      flush
    >
      <Listing asked={asked} what="The log heads" empty="The first is signed within ten minutes.">
        {(heads) =>
          heads.map((head) => (
            <Line
              key={head.checkpoint}
              name={
                <>
                  Checkpoint {countText(head.checkpoint)}{" "}
                  {head === coveringOf(heads, checkpoint) ? (
                    <Badge tone="accent">the first that covers {countText(checkpoint)}</Badge>
                  ) : null}
                </>
              }
              about={<Moment ms={head.signedAtMs} />}
            >
              <LongId text={head.hash} what="hash" head={10} tail={6} />
            </Line>
          ))
        }
      </Listing>
    </Card>
  );
};

/** The oldest shown one that covers a checkpoint; undefined where older ones may do so, too. */
const coveringOf = (heads: readonly LogHead[], checkpoint: string): LogHead | undefined => {
  if (!/^\d+$/.test(checkpoint)) return undefined;
  const at = BigInt(checkpoint);
  const covering = heads.filter((head) => BigInt(head.checkpoint) >= at);
  return covering.length === heads.length && heads.length === SHOWN ? undefined : covering.at(-1);
};

const Keys = () => {
  const asked = usePath("/deployment-keys", readDeploymentKeys);
  return (
    <Card
      title="Keys of this deployment"
      about="Roots, statements and log heads are signed with them. Compare them with what the issuer publishes elsewhere: a service cannot vouch for its own key."
      flush
    >
      <Listing asked={asked} what="The keys" empty="A key is made when something is first signed.">
        {(keys) =>
          keys.map(({ keyId, publicKey, madeAtMs, revokedFrom, isLost }) => (
            <Line
              key={keyId}
              name={keyId}
              about={
                <>
                  made <Moment ms={madeAtMs} />
                  {revokedFrom !== null && `, revoked from entry ${revokedFrom} on`}
                  {isLost && ", lost"}
                </>
              }
            >
              <LongId text={publicKey} what="public key" head={12} tail={6} />
            </Line>
          ))
        }
      </Listing>
    </Card>
  );
};

const Listing = <Row,>({
  asked,
  what,
  empty,
  children,
}: {
  readonly asked: Asked<readonly Row[]>;
  readonly what: string;
  readonly empty: string;
  readonly children: (rows: readonly Row[]) => ReactNode;
}) => (
  <Answered of={asked} what={what} lines={3}>
    {(rows) =>
      rows.length === 0 ? <Empty title="None yet">{empty}</Empty> : <Lines>{children(rows)}</Lines>
    }
  </Answered>
);

const Lines = ({ children }: { readonly children: ReactNode }) => (
  <ul className="divide-y divide-line border-t border-line">{children}</ul>
);

const Line = ({
  name,
  about,
  children,
}: {
  readonly name: ReactNode;
  readonly about: ReactNode;
  readonly children: ReactNode;
}) => (
  <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-0.5 px-4 py-2 text-sm">
    <div className="min-w-0">
      <div>{name}</div>
      <div className="text-xs text-muted">{about}</div>
    </div>
    <div className="flex min-w-0 max-w-full flex-wrap items-center gap-x-2">{children}</div>
  </li>
);
