/** Comparing a file with the keys and roots that this service publishes. */
import { type ReactNode, useState } from "react";
import { Finding } from "../../../blocks/blocks.tsx";
import { Button } from "../../../controls/controls.tsx";
import type { DeploymentKeys, Roots } from "../../../data/answers.ts";
import { AskError, askPath, pathWith } from "../../../data/ask.ts";
import { usePath } from "../../../data/queries.ts";
import { LongId } from "../../../shown/copied.tsx";
import { Moment } from "../../../shown/shown.tsx";
import { type Compared, comparedRoot, correctionWords } from "../held-root.ts";

export const Heading = ({
  className = "",
  children,
}: {
  readonly className?: string;
  readonly children: ReactNode;
}) => <h4 className={`mb-2 text-xs font-medium text-muted ${className}`}>{children}</h4>;

export const KeyCompared = ({ publicKey }: { readonly publicKey: string | null }) => {
  const keys = usePath<DeploymentKeys>("/deployment-keys");
  if (publicKey === null) {
    return <p className="text-sm text-muted">Unknown: the check stopped before the key.</p>;
  }
  const known = keys.data?.keys.find((key) => key.publicKey === publicKey);
  return (
    <div className="space-y-1 text-sm">
      <LongId text={publicKey} what="key" head={16} tail={8} />
      {keys.data === undefined ? (
        <p className="text-muted">
          {keys.error === null ? "Comparing…" : "The keys of this service could not be read."}
        </p>
      ) : known === undefined ? (
        <Finding tone="warn" word="not a key of this service">
          Signed by another deployment, or with a forged key.
        </Finding>
      ) : (
        <Finding
          tone={known.revoked === null ? "good" : "warn"}
          word={
            known.revoked === null
              ? "a key of this service"
              : `revoked from entry ${known.revoked.from} on`
          }
        >
          {known.keyId}, created <Moment at={known.madeAt} />
        </Finding>
      )}
    </div>
  );
};

/** Whether the service published the same root. Only on request: it tells the service about the file. */
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
  const [compared, setCompared] = useState<
    Compared | { readonly found: "not asked" | "asking" | "no answer" }
  >({ found: "not asked" });
  const { found } = compared;
  const compare = async () => {
    setCompared({ found: "asking" });
    try {
      const { roots } = await askPath<Roots>(
        pathWith("/roots", { coinType, checkpoint, version: String(version) }),
      );
      setCompared(comparedRoot(root, roots[0]));
    } catch (error) {
      const isNone = error instanceof AskError && error.status === 404;
      setCompared({ found: isNone ? "none" : "no answer" });
    }
  };
  return (
    <div className="mt-5">
      <Heading>Published root</Heading>
      <div className="text-sm" aria-live="polite">
        {found === "same" ? (
          <Finding tone="good" word="same root">
            This service published the same root for checkpoint {checkpoint}.
            {compared.correction && ` ${correctionWords(compared.correction)}`}
          </Finding>
        ) : found === "former" ? (
          <Finding tone="bad" word="former root">
            This root was published for checkpoint {checkpoint} and does not hold any more.
            {compared.correction && ` ${correctionWords(compared.correction)}`}
          </Finding>
        ) : found === "other" ? (
          <Finding tone="bad" word="different root">
            A checkpoint has exactly one root: one of the two is not from the register.
          </Finding>
        ) : found === "none" ? (
          <p className="text-muted">
            This service published no root of this token at checkpoint {checkpoint}.
          </p>
        ) : (
          <>
            <Button disabled={found === "asking"} onClick={() => void compare()}>
              Compare with the published root
            </Button>
            <p className="mt-1 text-xs text-muted">
              {found === "no answer" ? "The service did not answer. " : ""}
              This only tells the service the token and the checkpoint.
            </p>
          </>
        )}
      </div>
    </div>
  );
};
