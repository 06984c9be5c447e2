/** Signs what a proof found, and stores it. */
import {
  type CompletenessCertificate,
  certificateFaults,
  signedCertificate,
} from "../../../client/completeness.ts";
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { DeploymentKey } from "../sequence/deployment-key.ts";
import type { Gap } from "./chains.ts";
import type { Proof } from "./prove.ts";
import type { IncompleteObject } from "./tables.ts";
import { type CoinProof, isSettled } from "./verdict.ts";

/** The certificate cannot be written in its form: a defect, or a value beyond its bounds. */
class CertificateFormError extends Error {
  override readonly name = "CertificateFormError";
  readonly remedy: Remedy = "stop";
}

/**
 * The signed certificate of a complete coin; null for any other, and while the chain is unknown.
 * @throws SignerAwayError (retry), SignerAnswerError (stop), with an outside signer
 */
const certificateOf = async (
  proof: Proof,
  coin: CoinProof,
  key: DeploymentKey,
): Promise<CompletenessCertificate | null> => {
  const { chainId, packages, profile, through, code, heads } = proof;
  if (coin.verdict !== "complete" || chainId === null) return null;
  const { coinType, chains } = coin;
  const claims = {
    format: "holderbook-completeness" as const,
    version: 1 as const,
    ...{ chainId, coinType, packages, profile },
    through: { checkpoint: `${through.sequence}`, digest: through.digest },
    bytecode: code.versions.map(({ address, bytecode }) => ({ package: address, hash: bytecode })),
    chains: {
      objects: `${chains.objects}`,
      versions: `${chains.versions}`,
      live: `${chains.live}`,
    },
    closure: { transactions: `${coin.transactions}` },
    conservation: { checkpoints: `${chains.checkpoints}`, supply: `${chains.supply}` },
    heads: {
      hash: coin.headsHash,
      served: heads.map(({ source, as, askedAt, counts }) => {
        const { same, changed } = counts.get(coinType) ?? { same: 0n, changed: 0n };
        return { source, as, at: askedAt, same: `${same}`, changed: `${changed}` };
      }),
    },
    onFaith: coin.onFaith,
    keyId: key.keyId,
    publicKey: key.publicKey,
  };
  const { signature } = await key.sign(signedCertificate(claims));
  const certificate = { ...claims, signature };
  const [fault] = certificateFaults(certificate);
  if (fault !== undefined) throw new CertificateFormError(`certificate of ${coinType}: ${fault}`);
  return certificate;
};

/**
 * Certificates of the complete coins.
 * @throws SignerAwayError (retry), SignerAnswerError (stop), with an outside signer
 */
export const certify = async (
  proof: Proof,
  key: DeploymentKey,
): Promise<readonly CompletenessCertificate[]> => {
  const certificates: CompletenessCertificate[] = [];
  for (const coin of proof.coins) {
    const certificate = await certificateOf(proof, coin, key);
    if (certificate !== null) certificates.push(certificate);
  }
  return certificates;
};

const objectOf = ({ coinType, objectId, version, from, what }: Gap): IncompleteObject => ({
  ...{ coinType, objectId, version: `${version}`, from: `${from}`, why: what },
});

/**
 * Stores certificates, and which coins are incomplete, in one transaction. A coin about which not
 * everything could be shown keeps what was stored of it, and so does one with a proof through a
 * later checkpoint, which may have found it incomplete there.
 * @param certificates null: there was no key to sign with
 * @param ofAll whether the proof was of all coins
 * @returns false: not kept, as there is a proof through a later checkpoint
 */
export const storeProof = async (
  sql: Sql,
  { through: { sequence }, coins }: Proof,
  certificates: readonly CompletenessCertificate[] | null,
  ofAll: boolean,
): Promise<boolean> => {
  const [later] = await sql`
    select from completeness
    where through > ${sequence}
      and (coin_type is null or coin_type = any(${texts(coins.map(({ coinType }) => coinType))}::text[]))
    limit 1`;
  if (later !== undefined) return false;
  const incomplete = coins.flatMap(({ gaps }) => gaps.map(objectOf));
  const add = (
    coinType: string | null,
    certificate: unknown,
    of: readonly IncompleteObject[],
    signed: { readonly signature: string; readonly keyId: string } | null,
  ) => sql`
    insert into completeness (coin_type, through, certificate, incomplete, signature, key_id)
    values (${coinType}, ${sequence}, ${JSON.stringify(certificate)}::text::jsonb,
            ${JSON.stringify(of)}::text::jsonb, ${signed?.signature ?? null},
            ${signed?.keyId ?? null})`;
  for (const { coinType, gaps, verdict, notShown } of coins) {
    const certificate = certificates?.find((one) => one.coinType === coinType);
    if (certificate !== undefined) await add(coinType, certificate, [], certificate);
    else if (gaps.length > 0 || (verdict === "incomplete" && notShown.length === 0)) {
      // Without gaps the token is released: its upgrade is known, and only its code is not.
      await add(coinType, { verdict, notShown }, gaps.map(objectOf), null);
    }
  }
  // Unknown code is asked about again, once the setting may name it.
  if (ofAll && coins.every(isSettled)) {
    const verdicts = Object.fromEntries(coins.map(({ coinType, verdict }) => [coinType, verdict]));
    await add(null, { verdicts, hadKey: certificates !== null }, incomplete, null);
  }
  return true;
};
