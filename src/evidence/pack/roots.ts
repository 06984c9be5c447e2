/** Roots that the deployment published, as an auditor kept them, held against the registers of a pack. */
import type { SequenceEntry } from "../../../client/verify-sequence.ts";
import { textIn } from "../../audit/sequence/sequence.ts";
import { createSumTree } from "../../projections/merkle-sum.ts";
import { FILES, type PackHead, packError } from "./form.ts";
import type { RegisterTable } from "./register.ts";

/**
 * What is shown by entries about the registers of a pack; those of other checkpoints say nothing of it.
 * @throws AuditPackError (stop) when another root was published
 */
export const heldRoots = (
  entries: readonly SequenceEntry[],
  head: Pick<PackHead, "first" | "last">,
  tables: { readonly first: RegisterTable; readonly last: RegisterTable },
): readonly string[] =>
  (["first", "last"] as const).flatMap((name) =>
    entries
      .filter(({ body }) => body.checkpoint === `${head[name].checkpoint}`)
      .map(({ number, at, body }) => {
        const { issued, checkpointDigest } = tables[name].head;
        const version = textIn(body, "version");
        const own = version === "1" ? tables[name].head.root : root2Of(tables[name], body);
        const said = [
          textIn(body, "root"),
          textIn(body, "total"),
          textIn(body, "checkpointDigest"),
        ];
        const has = [own, `${issued}`, checkpointDigest];
        if (said.join() !== has.join()) {
          throw packError(
            name === "first" ? FILES.firstTable : FILES.lastTable,
            `has the root ${own} of version ${version} with the total ${issued}; entry ${number}, which was kept, says ${said[0]} and ${said[1]}: the deployment published another register`,
            "complete",
          );
        }
        return `entry ${number} of the deployment's sequence, which you kept: dated ${at}, names the root of version ${version} of the ${name} register, as everybody was shown it`;
      }),
  );

const root2Of = (
  { head: { coinType, checkpoint }, rows }: RegisterTable,
  body: SequenceEntry["body"],
): string => {
  const decimals = body.decimals === null ? null : Number(textIn(body, "decimals"));
  const tree = createSumTree();
  for (const row of rows) tree.add({ coinType, checkpoint, version: 2, decimals, row });
  return tree.top().root;
};
