/** The proof of a checkpoint and of the register at it, and checking files in the browser. */
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, Figure, Finding, Mark, PageHead } from "../../blocks/blocks.tsx";
import { Button } from "../../controls/controls.tsx";
import type { CheckpointProof } from "../../data/answers.ts";
import { graph } from "../../data/ask.ts";
import { useGraph, usePath } from "../../data/queries.ts";
import { useService } from "../../data/service.tsx";
import { useChangeAddress } from "../../data/tokens.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { LeftIcon, RightIcon } from "../../shown/icons.tsx";
import { Ago, Moment } from "../../shown/shown.tsx";
import { CheckFile } from "./check/check-file.tsx";
import { Completeness } from "./completeness.tsx";
import { PipelineDigests, Published } from "./published.tsx";
import { Signature } from "./signature.tsx";
import { summaryDigest } from "./summary-digest.ts";
import { pointsOf, verdictOf } from "./verified.ts";

const newestQuery = graph(`query NewestCheckpoint { _meta { checkpoint firstCheckpoint } }`);

const Page = () => {
  const search = useSearch({ strict: false });
  const meta = useGraph(newestQuery, {});
  const { checkpoint: live } = useService();
  const read = meta.data?._meta?.checkpoint ?? null;
  // The newest checkpoint when the page was opened: a proof that is being read must not change.
  const [opened, setOpened] = useState<string | null>(null);
  useEffect(() => setOpened((before) => before ?? read), [read]);
  const checkpoint = search.checkpoint ?? opened;
  return (
    <>
      <PageHead
        title="Proof"
        about="Evidence that the register matches what the validators signed, for anyone to check."
      />
      <CheckFile />
      {checkpoint === null ? (
        <Answered of={meta} what="The newest checkpoint" lines={6}>
          {() => (
            <Empty title="Nothing indexed yet">
              The first proof appears once all pipelines have committed a checkpoint.
            </Empty>
          )}
        </Answered>
      ) : (
        <>
          <Completeness />
          <Chosen checkpoint={checkpoint} newest={live ?? read} />
          <Proof checkpoint={checkpoint} />
        </>
      )}
    </>
  );
};

/** Choosing a checkpoint: a number, its neighbours, the newest. */
const Chosen = ({
  checkpoint,
  newest,
}: {
  readonly checkpoint: string;
  readonly newest: string | null;
}) => {
  const change = useChangeAddress();
  const [typed, setTyped] = useState(checkpoint);
  useEffect(() => setTyped(checkpoint), [checkpoint]);
  const number = /^\d{1,18}$/.test(checkpoint) ? BigInt(checkpoint) : null;
  const go = (to: bigint | string) => change({ checkpoint: String(to) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const digits = typed.replace(/[,\s]/g, "");
    if (digits !== "") go(digits);
  };
  const isNewest = newest !== null && checkpoint === newest;
  return (
    <form className="mb-3 flex flex-wrap items-end gap-2" onSubmit={submit}>
      <h2 className="mr-auto text-base font-semibold max-sm:w-full">
        Checkpoint {number === null ? checkpoint : countText(number)}
      </h2>
      <Button
        aria-label="Previous checkpoint"
        className="px-2"
        disabled={number === null || number === 0n}
        onClick={() => number !== null && go(number - 1n)}
      >
        <LeftIcon />
      </Button>
      <input
        aria-label="Checkpoint number"
        inputMode="numeric"
        className="figures h-8 w-36 rounded-md border border-line bg-surface px-2.5 text-right text-sm"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <Button
        aria-label="Next checkpoint"
        className="px-2"
        disabled={number === null || (newest !== null && number >= BigInt(newest))}
        onClick={() => number !== null && go(number + 1n)}
      >
        <RightIcon />
      </Button>
      <Button disabled={newest === null || isNewest} onClick={() => newest !== null && go(newest)}>
        Newest
      </Button>
    </form>
  );
};

const Proof = ({ checkpoint }: { readonly checkpoint: string }) => {
  const query = usePath<CheckpointProof>(`/proofs/${encodeURIComponent(checkpoint)}`);
  const missing = <Empty title="No proof of this checkpoint">{query.error?.message}</Empty>;
  return (
    <Answered of={query} what="The proof" lines={8} card missing={missing}>
      {(proof) => (
        <div className="space-y-4">
          <Verdict proof={proof} />
          {proof.certificate === null ? null : (
            <Signature proof={proof} certificate={proof.certificate} />
          )}
          <PipelineDigests proof={proof} />
          <Published checkpoint={proof.checkpoint} />
        </div>
      )}
    </Answered>
  );
};

const Verdict = ({ proof }: { readonly proof: CheckpointProof }) => {
  const { tone, title } = verdictOf(proof);
  return (
    <>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
        <Figure
          label="Verified"
          value={
            proof.verification === "signatures"
              ? "Signature"
              : proof.verification === "links"
                ? "Digests only"
                : "Nothing"
          }
          tone={tone}
          about={title}
        />
        <Figure
          label="Time"
          value={proof.timestamp.slice(0, 10)}
          about={
            <>
              <Moment at={proof.timestamp} /> (<Ago at={proof.timestamp} />)
            </>
          }
        />
        <Figure
          label="Epoch"
          value={proof.epoch === null ? "unknown" : countText(proof.epoch)}
          about={
            proof.epoch === null
              ? "only a signature shows it"
              : "the period of one committee of validators"
          }
        />
      </div>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <Card
          title="Checks"
          about={proof.verification === "signatures" ? "Before it entered the log" : proof.how}
        >
          <ul className="space-y-3">
            {pointsOf(proof).map(({ verified, title: point, how }) => (
              <li key={point} className="flex gap-3 text-sm">
                <Mark tone={verified ? "good" : "warn"} />
                <div className="min-w-0">
                  <div className="font-medium">
                    {point}
                    {verified ? null : (
                      <>
                        {" "}
                        <Badge tone="warn">not verified</Badge>
                      </>
                    )}
                  </div>
                  <div className="text-muted">{how}</div>
                </div>
              </li>
            ))}
          </ul>
        </Card>
        <Card title="Digests" about="As on the ledger">
          <dl className="space-y-2.5 text-sm">
            <Digest name="This checkpoint" text={proof.digest} />
            <Digest
              name="Previous checkpoint"
              text={proof.previousDigest}
              none="none: the log begins here"
            />
            <Digest
              name="Contents"
              text={proof.contentDigest}
              none="only kept for the signed checkpoint"
            />
            {proof.signedCheckpoint === null || proof.signedCheckpoint.links === 0 ? null : (
              <Digest
                name={`Signed checkpoint ${countText(proof.signedCheckpoint.checkpoint)}`}
                text={proof.signedCheckpoint.digest}
              />
            )}
          </dl>
          <ComputedHere proof={proof} />
        </Card>
      </div>
    </>
  );
};

/** Compares the digest shown with that of the signed summary, computed in this browser. */
const ComputedHere = ({
  proof: { signedCheckpoint, summaryBcs },
}: {
  readonly proof: CheckpointProof;
}) => {
  const computed = useQuery({
    queryKey: ["summary digest", summaryBcs],
    queryFn: () => summaryDigest(summaryBcs ?? ""),
    enabled: summaryBcs !== null,
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
  if (signedCheckpoint === null || computed === undefined) return null;
  const same = computed === signedCheckpoint.digest;
  return (
    <Finding
      tone={same ? "good" : "bad"}
      word={same ? "Verified in your browser" : "Mismatch"}
      className="mt-3 text-sm"
    >
      {same
        ? "This browser computed the same digest from the signed summary."
        : `This browser computed ${computed} from the signed summary. Do not rely on this service.`}
    </Finding>
  );
};

const Digest = ({
  name,
  text,
  none,
}: {
  readonly name: string;
  readonly text: string | null;
  /** Why there is none. */
  readonly none?: string;
}) => (
  <div>
    <dt className="text-xs text-muted">{name}</dt>
    <dd>
      {text === null ? (
        <span className="text-muted">{none}</span>
      ) : (
        <span className="max-w-full [&>span]:max-w-full [&>span]:whitespace-normal">
          <LongId text={text} what="digest" head={50} tail={0}>
            <span className="break-all">{text}</span>
          </LongId>
        </span>
      )}
    </dd>
  </div>
);

export default Page;
