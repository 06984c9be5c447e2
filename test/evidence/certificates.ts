/** Certificates of completeness, made from a log's rows as an operator does, honest or not. */
import type { CompletenessCertificate, Head } from "../../client/completeness.ts";
import { headsHash, signedCertificate } from "../../client/completeness.ts";
import { chainsOf } from "../../src/audit/complete/chains.ts";
import { closureOf } from "../../src/audit/complete/closure.ts";
import { type DeploymentKey, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { PROFILE } from "../../src/ledger/contract/profile.ts";
import { objectsOfCoin } from "../../src/log/coin-facts.ts";
import type { TestDatabase } from "../postgres.ts";

/** What these certificates say that they rest on. */
export const ON_FAITH = "the committee of epoch 0: the settings, which trusted it";

type Claims = Omit<CompletenessCertificate, "signature">;

export const signedBy = async (
  { keyId, publicKey, sign }: DeploymentKey,
  claims: Claims,
): Promise<CompletenessCertificate> => {
  const own = { ...claims, keyId, publicKey };
  const { signature } = await sign(signedCertificate(own));
  return { ...own, signature };
};

/** @param served who serves the heads, as the operator says */
export const certificateOf = async (
  database: TestDatabase,
  masterKey: string,
  of: Pick<Claims, "chainId" | "coinType" | "packages" | "through">,
  served: Claims["heads"]["served"] = [],
): Promise<CompletenessCertificate> => {
  const through = BigInt(of.through.checkpoint);
  const coins = [of.coinType];
  const [chains] = await chainsOf(database.sql, { first: 0n, through }, coins);
  const [closure] = await closureOf(database.sql, through, coins);
  if (chains === undefined || closure === undefined) throw new Error(`no facts of ${of.coinType}`);
  const heads: readonly Head[] = await objectsOfCoin(database.sql, of.coinType, through);
  const key = await openDeploymentKey(database, Buffer.from(masterKey, "base64"));
  return signedBy(key, {
    ...of,
    format: "holderbook-completeness",
    version: 1,
    profile: PROFILE,
    bytecode: of.packages.map((address) => ({ package: address, hash: "ab".repeat(32) })),
    chains: {
      objects: `${chains.objects}`,
      versions: `${chains.versions}`,
      live: `${chains.live}`,
    },
    closure: { transactions: `${closure.transactions}` },
    conservation: { checkpoints: `${chains.checkpoints}`, supply: `${chains.supply}` },
    heads: { hash: await headsHash(heads), served },
    onFaith: [ON_FAITH],
    keyId: key.keyId,
    publicKey: key.publicKey,
  });
};
