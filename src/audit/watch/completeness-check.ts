/**
 * Proves completeness once guided reading has ended, and again after each further guided range. What
 * is known is in the database, so that a process that was killed goes on with it.
 */
import type { Sql } from "../../database/connect.ts";
import { guidedRanges } from "../../log/guided.ts";
import { certify, storeProof } from "../complete/certificate.ts";
import { type Proof, type ProofRequest, prove } from "../complete/prove.ts";
import { isSettled } from "../complete/verdict.ts";
import type { DeploymentKey } from "../sequence/deployment-key.ts";
import type { SlowCheck } from "./watch.ts";

type CompletenessCheck = {
  /** Signs certificates; omitted: none are made. */
  readonly key?: DeploymentKey | undefined;
  /** Opens what a proof asks; closed after it. */
  readonly open: () => Promise<AsyncDisposable & Omit<ProofRequest, "coinType" | "through">>;
  readonly onProved: (proof: Proof) => void;
  readonly signal: AbortSignal;
};

/** When not everything could be shown, a node is asked again after this long. */
const AGAIN_MS = 3_600_000;

export const completenessCheck = ({
  key,
  open,
  onProved,
  signal,
}: CompletenessCheck): SlowCheck => {
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  return {
    // Soon after each guided range: until then a gap is not known.
    ...{ rests: 0, everyMs: 5_000 },
    next: async (database) => {
      if (performance.now() < notBeforeMs || !(await isDue(database.sql, key !== undefined)))
        return { ended: true };
      await using request = await open();
      const proof = await prove(database, request, signal);
      const certificates = key === undefined ? null : await certify(proof, key);
      await database.transaction(({ sql }) => storeProof(sql, proof, certificates, true));
      if (!proof.coins.every(isSettled)) notBeforeMs = performance.now() + AGAIN_MS;
      onProved(proof);
      return { ended: true };
    },
  };
};

/**
 * Whether a guided range ends behind the last proof of all coins, and there are coins. With a key, a
 * proof without one does not count: it certified nothing.
 */
const isDue = async (sql: Sql, hasKey: boolean): Promise<boolean> => {
  const last = (await guidedRanges({ sql })).at(-1)?.last;
  if (last === undefined) return false;
  const [row] = await sql<{ through: bigint | null; coins: boolean }[]>`
    select (select max(through) from completeness
            where coin_type is null and (not ${hasKey} or not certificate @> '{"hadKey": false}')) as through,
           exists (select from log_coins where is_security) as coins`;
  return row?.coins === true && (row.through === null || row.through < last);
};
