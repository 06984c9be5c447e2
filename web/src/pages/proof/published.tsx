/** What the service publishes and signs about its contents, for others to keep and compare. */
import { Badge, Card, Line, Lines } from "../../blocks/blocks.tsx";
import { LinesCard } from "../../blocks/lines-card.tsx";
import type { CheckpointProof, DeploymentKeys, LogHeads, Roots } from "../../data/answers.ts";
import { pathWith } from "../../data/ask.ts";
import { usePath } from "../../data/queries.ts";
import { tokenLabel, useToken } from "../../data/tokens.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { Moment } from "../../shown/shown.tsx";
import { correctionWords, heldRoot } from "./held-root.ts";

/** The newest of each list; the paths themselves have more. */
const SHOWN = 8;

/** `Holder lifecycle` of `holder_lifecycle`. */
const pipelineText = (name: string): string =>
  name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

export const PipelineDigests = ({ proof }: { readonly proof: CheckpointProof }) => (
  <Card
    title="Register digests at this checkpoint"
    about="One digest over all rows of each pipeline. Two deployments with equal digests have equal registers."
    flush
  >
    <Lines>
      {proof.pipelineDigests.map(({ pipeline, digest }) => (
        <Line key={pipeline} name={pipelineText(pipeline)}>
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
    <PublishedRoots />
    <PublishedHeads checkpoint={checkpoint} />
    <div className="lg:col-span-2">
      <Keys />
    </div>
  </div>
);

const PublishedRoots = () => {
  const token = useToken();
  const query = usePath<Roots>(
    pathWith("/roots", { coinType: token?.coinType, limit: String(SHOWN) }),
    { enabled: token !== null },
  );
  return (
    <LinesCard
      title={`Published roots${token === null ? "" : ` of ${tokenLabel(token)}`}`}
      about="Each is a signed commitment to a whole cap table. A statement refers to one."
      of={query}
      what="The roots"
      lines={3}
      empty={{
        title: "None yet",
        text: "A root is published whenever a statement or an audit pack is made.",
      }}
      rows={({ roots }) =>
        roots.map((one) => ({ ...one, ...heldRoot(one), correction: one.corrections.at(-1) }))
      }
    >
      {({ checkpoint, root, total, signedAt, correction }) => (
        <Line
          key={checkpoint}
          name={`Checkpoint ${countText(checkpoint)}`}
          about={
            <>
              <Moment at={signedAt} />
              {correction && <span className="break-words"> · {correctionWords(correction)}</span>}
            </>
          }
        >
          <LongId text={root} what="root" head={10} tail={6} />
          <span className="text-xs text-muted">
            of{" "}
            <Amount
              units={BigInt(total)}
              decimals={token?.decimals ?? null}
              symbol={token?.symbol ?? null}
            />
          </span>
        </Line>
      )}
    </LinesCard>
  );
};

const PublishedHeads = ({ checkpoint }: { readonly checkpoint: string }) => {
  const query = usePath<LogHeads>(pathWith("/log-heads", { limit: String(SHOWN) }));
  const covering = coveringOf(query.data?.heads ?? [], checkpoint);
  return (
    <LinesCard
      title="Log heads"
      about="Each covers all facts up to its checkpoint. Keep copies elsewhere: a head that disappears or changes shows that the past was altered."
      of={query}
      what="The log heads"
      lines={3}
      empty={{ title: "None yet", text: "The first is signed within ten minutes." }}
      rows={({ heads }) => heads}
    >
      {(head) => (
        <Line
          key={head.checkpoint}
          name={
            <>
              Checkpoint {countText(head.checkpoint)}{" "}
              {head === covering ? (
                <Badge tone="accent">first to cover {countText(checkpoint)}</Badge>
              ) : null}
            </>
          }
          about={<Moment at={head.signedAt} />}
        >
          <LongId text={head.hash} what="hash" head={10} tail={6} />
        </Line>
      )}
    </LinesCard>
  );
};

/** The oldest head that covers a checkpoint; undefined where one that is not shown may be older. */
const coveringOf = (
  heads: LogHeads["heads"],
  checkpoint: string,
): LogHeads["heads"][number] | undefined => {
  if (!/^\d+$/.test(checkpoint)) return undefined;
  const at = BigInt(checkpoint);
  const covering = heads.filter((head) => BigInt(head.checkpoint) >= at);
  return covering.length === heads.length && heads.length === SHOWN ? undefined : covering.at(-1);
};

const Keys = () => (
  <LinesCard
    title="Keys of this deployment"
    about="They sign roots, statements and log heads. Compare them with what the issuer publishes elsewhere: a service cannot vouch for its own key."
    of={usePath<DeploymentKeys>("/deployment-keys")}
    what="The keys"
    lines={3}
    empty={{ title: "None yet", text: "A key is made when something is first signed." }}
    rows={({ keys }) => keys}
  >
    {({ keyId, publicKey, madeAt, revoked, lost }) => (
      <Line
        key={keyId}
        name={keyId}
        about={
          <>
            created <Moment at={madeAt} />
            {revoked !== null && `, revoked from entry ${revoked.from} on`}
            {lost !== null && ", lost"}
          </>
        }
      >
        <LongId text={publicKey} what="public key" head={12} tail={6} />
      </Line>
    )}
  </LinesCard>
);
