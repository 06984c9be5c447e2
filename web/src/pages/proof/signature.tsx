/** The validators' signature: its stake, and its signers. */
import { Badge, Card } from "../../blocks/blocks.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { Download } from "../../controls/controls.tsx";
import type { Certificate, CheckpointProof, Validator } from "../../data/answers.ts";
import { countText, proportion, shareText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";

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
          : `Of checkpoint ${countText(signedCheckpoint.checkpoint)}, ${countText(signedCheckpoint.links)} later: one signature proves all checkpoints that lead to it`
      }
      actions={
        <span className="flex items-center gap-1 text-xs text-muted">
          BLS, {certificate.signers.length} validators
          <LongId text={certificate.signature} what="signature" head={8} tail={4} />
        </span>
      }
      flush
    >
      <div className="px-4 pt-2 pb-4">
        <Quorum certificate={certificate} />
        <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 text-sm text-muted">
          <p>
            The service verified the signature, this browser did not. The file has all that is
            needed to verify it elsewhere.
          </p>
          <span className="flex items-center gap-2">
            <Download
              path={`/proofs/${encodeURIComponent(proof.checkpoint)}`}
              as={`checkpoint-${proof.checkpoint}-proof.json`}
            >
              Save the proof
            </Download>
          </span>
        </div>
      </div>
      {committee === null ? null : (
        <div className="border-t border-line">
          <h3 className="px-4 pt-3 text-xs font-medium text-muted">
            Committee of epoch {countText(committee.epoch)}: {committee.members.length} validators
          </h3>
          <DataTable
            label={`Committee of epoch ${committee.epoch}`}
            columns={columnsOf(BigInt(certificate.totalStake))}
            rows={committee.members}
            keyOf={({ index }) => String(index)}
            height="26rem"
          />
        </div>
      )}
    </Card>
  );
};

/** Signed stake and the quorum. */
const Quorum = ({ certificate }: { readonly certificate: Certificate }) => {
  const [signedStake, totalStake, threshold] = [
    BigInt(certificate.signedStake),
    BigInt(certificate.totalStake),
    BigInt(certificate.threshold),
  ];
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
          {countText(threshold)} required{enough ? "" : ": not enough"}
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
    header: "No.",
    align: "right",
    className: "w-16",
    order: ({ index }) => index,
    cell: ({ index }) => index,
  },
  {
    header: "Signed",
    order: ({ signed }) => (signed ? 1 : 0),
    cell: ({ signed }) => (signed ? <Badge tone="good">signed</Badge> : <Badge>not signed</Badge>),
  },
  {
    header: "Votes",
    align: "right",
    order: ({ stake }) => BigInt(stake),
    cell: ({ stake }) => countText(stake),
  },
  {
    header: "Share",
    align: "right",
    wideOnly: true,
    cell: ({ stake }) => shareText(BigInt(stake), total),
  },
  {
    header: "Public key",
    cell: ({ publicKey }) => <LongId text={publicKey} what="public key" head={10} tail={6} />,
  },
];
