/** What a proof leaves on faith, and on whose word. */
import type { Sql } from "../../database/connect.ts";
import { PROFILE } from "../../ledger/contract/profile.ts";
import { allCommittees } from "../../log/proofs.ts";
import type { UpgradeCap } from "./upgrades.ts";
import type { Common } from "./verdict.ts";

/** Checkpoints of a coin without a verified signature. */
const UNSIGNED = `
  select count(*) as count, min(checkpoint) as first from (
    select distinct checkpoint from log_coin_chain where checkpoint <= $1
  ) as read
  where not exists (
    select from (
      select last_checkpoint from log_proofs where first_checkpoint <= read.checkpoint
      order by first_checkpoint desc limit 1
    ) as proof where last_checkpoint >= read.checkpoint)`;

/** One line each. */
export const onFaithOfAll = async (
  sql: Sql,
  { through, isGuided, code, heads }: Pick<Common, "through" | "isGuided" | "code" | "heads">,
): Promise<readonly string[]> => {
  const [unsigned] = await sql.unsafe<{ count: bigint; first: bigint | null }[]>(UNSIGNED, [
    `${through}`,
  ]);
  const committees = (await allCommittees(sql)).filter(({ namedBy }) => namedBy === null);
  const onFaith = [
    "that the log has not been changed since it was read: this deployment (verify --log shows it)",
  ];
  if (unsigned !== undefined && unsigned.count > 0n) {
    onFaith.push(
      `${unsigned.count} checkpoints, from ${unsigned.first} on, which were read without the validators' signatures: the source`,
    );
  }
  for (const { epoch } of committees) {
    onFaith.push(`the committee of epoch ${epoch}: the settings, which trusted it`);
  }
  for (const { address, bytecode, acceptedBy, shownBy, checkpoint } of code.versions) {
    const who = acceptedBy === "setting" ? "the setting CONTRACT_BYTECODE" : "this program";
    onFaith.push(`that ${PROFILE} holds for package ${address} with bytecode ${bytecode}: ${who}`);
    if (shownBy !== "signature") {
      onFaith.push(
        `the code of package ${address}, published at checkpoint ${checkpoint}: the source`,
      );
    }
  }
  onFaith.push(...code.caps.flatMap(ofCap));
  const whole = "this deployment, which read every checkpoint";
  if (!code.isFollowed && !isGuided) onFaith.push(`that no upgrade was missed: ${whole}`);
  const words = heads.map(({ as, source, askedAt }) => `${source} (${as}), asked at ${askedAt}`);
  if (!isGuided) words.push(whole);
  onFaith.push(
    `that nothing touched a live object after its last version, up to checkpoint ${through}: ${words.join("; ")}`,
  );
  if (isGuided) {
    onFaith.push(
      "that the contract has no other token, and that no registry entry (Currency) of a token was left out: the node's lists",
    );
  }
  return onFaith;
};

/** Nothing of a deletion that validators signed: the ledger shows it. */
const ofCap = ({ objectId, version, deleted, shownBy, node }: UpgradeCap): readonly string[] => {
  const isSigned = shownBy === "signature";
  if (deleted === null) {
    const by = isSigned ? node : `${node} and the source`;
    return [`that the upgrade capability ${objectId} has no version after ${version}: ${by}`];
  }
  if (isSigned) return [];
  return [
    `that the upgrade capability ${objectId} was deleted at checkpoint ${deleted.checkpoint}, after all its upgrades were read: the source`,
  ];
};
