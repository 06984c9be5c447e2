/** A file beside what this service publishes: its keys, its roots. */
import { type ReactNode, useState } from "react";
import { Badge } from "../../../blocks/blocks.tsx";
import { Button } from "../../../controls/button.tsx";
import { AskError, askPath } from "../../../data/ask.ts";
import { pathWith } from "../../../data/operator.ts";
import { readDeploymentKeys, readRoots } from "../../../data/proof.ts";
import { usePath } from "../../../data/queries.ts";
import { LongId } from "../../../shown/copied.tsx";
import { Moment } from "../../../shown/shown.tsx";

export const Heading = ({
  className = "",
  children,
}: {
  readonly className?: string;
  readonly children: ReactNode;
}) => <h4 className={`mb-2 text-xs font-medium text-muted ${className}`}>{children}</h4>;

/** The key in the file beside those that this service publishes. */
export const KeyCompared = ({ publicKey }: { readonly publicKey: string | null }) => {
  const keys = usePath("/deployment-keys", readDeploymentKeys);
  if (publicKey === null) {
    return <p className="text-sm text-muted">Not known: the file was not read so far.</p>;
  }
  const known = keys.data?.find((key) => key.publicKey === publicKey);
  return (
    <div className="space-y-1 text-sm">
      <LongId text={publicKey} what="key" head={16} tail={8} />
      {keys.data === undefined ? (
        <p className="text-muted">
          {keys.error === null ? "Comparing…" : "The keys of this service could not be read."}
        </p>
      ) : known === undefined ? (
        <p>
          <Badge tone="warn">no key of this service</Badge>{" "}
          <span className="text-muted">
            Another deployment signed it, or somebody who made a key for it.
          </span>
        </p>
      ) : (
        <p>
          {known.revokedFrom === null ? (
            <Badge tone="good">a key of this service</Badge>
          ) : (
            <Badge tone="warn">revoked from entry {known.revokedFrom} on</Badge>
          )}{" "}
          <span className="text-muted">
            {known.keyId}, made <Moment ms={known.madeAtMs} />
          </span>
        </p>
      )}
    </div>
  );
};

/** Whether the service published the same root. Asked for on request alone: it tells the service what file there is. */
export const RootCompared = ({
  coinType,
  checkpoint,
  root,
  version = 1,
}: {
  readonly coinType: string;
  readonly checkpoint: string;
  readonly root: string;
  readonly version?: 1 | 2;
}) => {
  const [found, setFound] = useState<
    "not asked" | "asking" | "same" | "other" | "none" | "no answer"
  >("not asked");
  const compare = async () => {
    setFound("asking");
    try {
      const [published] = await askPath(
        pathWith("/roots", { coinType, checkpoint, version: String(version) }),
        readRoots,
      );
      setFound(published === undefined ? "none" : published.root === root ? "same" : "other");
    } catch (error) {
      setFound(error instanceof AskError && error.status === 404 ? "none" : "no answer");
    }
  };
  return (
    <div className="mt-5">
      <Heading>Whether others see the same table</Heading>
      <div className="text-sm" aria-live="polite">
        {found === "same" ? (
          <p>
            <Badge tone="good">the published root</Badge>{" "}
            <span className="text-muted">
              This service publishes the same root for checkpoint {checkpoint}.
            </span>
          </p>
        ) : found === "other" ? (
          <p>
            <Badge tone="bad">another root is published</Badge>{" "}
            <span className="text-muted">
              There is one root for a checkpoint, for ever: one of the two is not the register's.
            </span>
          </p>
        ) : found === "none" ? (
          <p className="text-muted">
            This service publishes no root of this token at checkpoint {checkpoint}.
          </p>
        ) : (
          <>
            <Button disabled={found === "asking"} onClick={() => void compare()}>
              Compare with the published root
            </Button>
            <p className="mt-1 text-xs text-muted">
              {found === "no answer" ? "The service did not answer. " : ""}
              Tells this service the token and the checkpoint, and nothing else.
            </p>
          </>
        )}
      </div>
    </div>
  );
};
