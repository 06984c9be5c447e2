/** The validators' signature: how much stake stands behind it, and whose. */
import { Badge, Card } from "../../blocks/blocks.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { Button } from "../../controls/button.tsx";
import { Fault, useDoing } from "../../controls/doing.tsx";
import { askFile, save } from "../../data/ask.ts";
import type { Certificate, CheckpointProof, Validator } from "../../data/proof.ts";
import { useSession } from "../../data/session.ts";
import { countText, proportion, shareText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { SaveIcon } from "../../shown/icons.tsx";

export const Signature = ({
  proof,
  certificate,
}: {
  readonly proof: CheckpointProof;
  readonly certificate: Certificate;
}) => {
  const { committee, signedCheckpoint } = proof;
  return (
    <Card
      title="Signature"
      about={
        signedCheckpoint === null || signedCheckpoint.links === 0
          ? "Of this checkpoint"
          : `Of checkpoint ${countText(signedCheckpoint.checkpoint)}, ${countText(signedCheckpoint.links)} later: one signature proves all that lead to it`
      }
      actions={
        <span className="flex items-center gap-1 text-xs text-muted">
          BLS, of {certificate.signers} validators
          <LongId text={certificate.signature} what="signature" head={8} tail={4} />
        </span>
      }
      flush
    >
      <div className="px-4 pt-2 pb-4">
        <Quorum certificate={certificate} />
        <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 text-sm text-muted">
          <p>
            The service verified the signature, this browser did not. The file has everything to
            verify it elsewhere.
          </p>
          <SaveProof checkpoint={proof.checkpoint} />
        </div>
      </div>
      {committee === null ? null : (
        <div className="border-t border-line">
          <h3 className="px-4 pt-3 text-xs font-medium text-muted">
            Committee of epoch {countText(committee.epoch)}: {committee.members.length} validators
          </h3>
          <DataTable
            label={`Committee of epoch ${committee.epoch}`}
            columns={columnsOf(certificate.totalStake)}
            rows={committee.members}
            keyOf={({ index }) => String(index)}
            height="26rem"
          />
        </div>
      )}
    </Card>
  );
};

const SaveProof = ({ checkpoint }: { readonly checkpoint: string }) => {
  const { key } = useSession();
  const { fault, during } = useDoing();
  const keep = () =>
    during(async () => {
      const { blob } = await askFile(`/proofs/${encodeURIComponent(checkpoint)}`, { key });
      save({ blob, name: `checkpoint-${checkpoint}-proof.json` });
    });
  return (
    <span className="flex items-center gap-2">
      <Fault text={fault} />
      <Button onClick={() => void keep()}>
        <SaveIcon />
        Save the proof
      </Button>
    </span>
  );
};

/** Signed stake against what certifies: a bar for the eye, the numbers for the rest. */
const Quorum = ({ certificate }: { readonly certificate: Certificate }) => {
  const { signedStake, totalStake, threshold } = certificate;
  const enough = signedStake >= threshold;
  const percent = (part: bigint) => `${proportion(part, totalStake) * 100}%`;
  return (
    <div>
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 text-sm">
        <span>
          <strong className={`figures text-lg font-semibold ${enough ? "text-good" : "text-bad"}`}>
            {countText(signedStake)}
          </strong>{" "}
          <span className="text-muted">
            of {countText(totalStake)} votes signed ({shareText(signedStake, totalStake)})
          </span>
        </span>
        <span className="text-muted">
          {countText(threshold)} are needed{enough ? "" : ": these are too few"}
        </span>
      </div>
      <div className="relative mt-2 mb-5 h-3" aria-hidden="true">
        <div className="h-3 overflow-hidden rounded-full bg-sunken">
          <div
            className={`h-full ${enough ? "bg-good" : "bg-bad"}`}
            style={{ width: percent(signedStake) }}
          />
        </div>
        <div className="absolute -inset-y-1 w-0.5 bg-ink" style={{ left: percent(threshold) }}>
          <span className="absolute top-full -translate-x-1/2 pt-0.5 text-xs whitespace-nowrap text-muted">
            two thirds + 1
          </span>
        </div>
      </div>
    </div>
  );
};

const columnsOf = (total: bigint): readonly Column<Validator>[] => [
  {
    id: "index",
    header: "No.",
    align: "right",
    className: "w-16",
    order: ({ index }) => index,
    cell: ({ index }) => index,
  },
  {
    id: "signed",
    header: "Signed",
    order: ({ signed }) => (signed ? 1 : 0),
    cell: ({ signed }) =>
      signed ? <Badge tone="good">signed</Badge> : <Badge>did not sign</Badge>,
  },
  {
    id: "votes",
    header: "Votes",
    align: "right",
    order: ({ stake }) => stake,
    cell: ({ stake }) => countText(stake),
  },
  {
    id: "share",
    header: "Share",
    align: "right",
    wideOnly: true,
    cell: ({ stake }) => shareText(stake, total),
  },
  {
    id: "key",
    header: "Public key",
    cell: ({ publicKey }) => <LongId text={publicKey} what="public key" head={10} tail={6} />,
  },
];
