/** What proves a checkpoint and the register at its end, and a place to check files in the browser. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, Figure, PageHead } from "../../blocks/blocks.tsx";
import { Button } from "../../controls/button.tsx";
import { AskError } from "../../data/ask.ts";
import { graph } from "../../data/graph.ts";
import { type CheckpointProof, readProof } from "../../data/proof.ts";
import { useGraph, usePath } from "../../data/queries.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { CheckIcon, CloseIcon, LeftIcon, RightIcon } from "../../shown/icons.tsx";
import { Ago, Moment } from "../../shown/shown.tsx";
import { CheckFile } from "./check/check-file.tsx";
import { PipelineDigests, Published } from "./published.tsx";
import { Signature } from "./signature.tsx";
import { summaryDigest } from "./summary-digest.ts";
import { pointsOf, verdictOf } from "./verified.ts";

const newestQuery = graph(`query NewestCheckpoint { _meta { checkpoint firstCheckpoint } }`);

const Page = () => {
  const { checkpoint: asked } = useSearch({ strict: false });
  const meta = useGraph(newestQuery, {});
  const newest = meta.data?._meta?.checkpoint ?? null;
  // It would move away under the reader: the newest is that of when the page was opened.
  const [opened, setOpened] = useState<string | null>(null);
  useEffect(() => setOpened((before) => before ?? newest), [newest]);
  const checkpoint = asked ?? opened;
  return (
    <>
      <PageHead
        title="Proof"
        about="What shows that the register says what the validators signed, for anybody to check."
      />
      <CheckFile />
      {checkpoint === null ? (
        <Answered of={meta} what="The newest checkpoint" lines={6}>
          {() => (
            <Empty title="Nothing is indexed yet">
              A proof appears with the first checkpoint that all pipelines have committed.
            </Empty>
          )}
        </Answered>
      ) : (
        <>
          <Chosen checkpoint={checkpoint} newest={newest} />
          <Proof checkpoint={checkpoint} />
        </>
      )}
    </>
  );
};

/** Which checkpoint: a number, its neighbours, the newest. */
const Chosen = ({
  checkpoint,
  newest,
}: {
  readonly checkpoint: string;
  readonly newest: string | null;
}) => {
  const navigate = useNavigate();
  const [typed, setTyped] = useState(checkpoint);
  useEffect(() => setTyped(checkpoint), [checkpoint]);
  const number = /^\d{1,18}$/.test(checkpoint) ? BigInt(checkpoint) : null;
  const go = (to: bigint | string) =>
    void navigate({
      to: "/proof",
      search: (now: object) => ({ ...now, checkpoint: String(to) }),
    });
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
        aria-label="The checkpoint before"
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
        aria-label="The checkpoint after"
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
  const asked = usePath(`/proofs/${encodeURIComponent(checkpoint)}`, readProof);
  const { error } = asked;
  if (error instanceof AskError && (error.status === 404 || error.status === 400)) {
    return (
      <Card>
        <Empty title="There is no proof of it here">{error.message}</Empty>
      </Card>
    );
  }
  return (
    <Answered of={asked} what="The proof" lines={8} card>
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
          value={new Date(proof.timestampMs).toISOString().slice(0, 10)}
          about={
            <>
              <Moment ms={proof.timestampMs} /> (<Ago ms={proof.timestampMs} />)
            </>
          }
        />
        <Figure
          label="Epoch"
          value={proof.epoch === null ? "not known" : countText(proof.epoch)}
          about={
            proof.epoch === null
              ? "a signature would tell"
              : "the span of time with one committee of validators"
          }
        />
      </div>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <Card
          title="What was verified"
          about={
            proof.verification === "signatures"
              ? "Before anything of it entered the log"
              : proof.how
          }
        >
          <ul className="space-y-3">
            {pointsOf(proof).map(({ verified, title: point, how }) => (
              <li key={point} className="flex gap-3 text-sm">
                <span
                  className={`mt-px grid size-5 shrink-0 place-items-center rounded-full ${verified ? "bg-good-soft text-good" : "bg-warn-soft text-warn"}`}
                  aria-hidden="true"
                >
                  {verified ? <CheckIcon /> : <CloseIcon />}
                </span>
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
        <Card title="Digests" about="Of the checkpoint on the ledger">
          <dl className="space-y-2.5 text-sm">
            <Digest name="This checkpoint" text={proof.digest} />
            <Digest
              name="The one before it"
              text={proof.previousDigest}
              none="the log begins here"
            />
            <Digest
              name="Its contents"
              text={proof.contentDigest}
              none="only the signed checkpoint's is kept"
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

/** Whether what was signed has the digest that is shown: computed by the reader's own browser. */
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
    <p className="mt-3 text-sm">
      <Badge tone={same ? "good" : "bad"}>
        {same ? "Verified in your browser" : "not the same"}
      </Badge>{" "}
      <span className="text-muted">
        {same
          ? "This browser computed the digest of what was signed, and came to the one above."
          : `This browser computed ${computed} from what was signed. Do not rely on this service.`}
      </span>
    </p>
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
