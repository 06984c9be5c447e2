/** Which command finds which change of the database: from the list that a test performs. */
import { code, head, table } from "./markdown.ts";

type Tampering = { readonly table: string; readonly what: string; readonly by: string };

const ABOUT = `Each row is a change by somebody who owns the database and switches its triggers off, which the service's own role
[cannot](../how-to/deploy.md#two-roles). A test makes every one of
them in a copy of a register and runs the command named, which names what was changed and ends with code 1
(test/audit/tampering.test.ts). FILE has entries of the [sequence](../how-to/audit.md#the-sequence) that were kept elsewhere; SOURCE is
any node or archive of the ledger. What another deployment serves is compared by
[\`compare\`](../how-to/audit.md#comparing-two-deployments), whatever its tables say.`;

const NOT_HERE = `A change of these tables is found by no command of the deployment itself.`;

export const tamperingPage = (
  tamperings: readonly Tampering[],
  outside: Readonly<Record<string, string>>,
): string => {
  const found = tamperings.map(({ table: of, what, by }) => [code(of), what, code(by)]);
  const rest = Object.entries(outside).map(([of, by]) => [code(of), by]);
  return [
    head("Which command finds which change", ABOUT),
    table(["table", "changed", "found by"], found),
    `## Found by something outside\n\n${NOT_HERE}\n`,
    table(["table", "what shows a change"], rest),
  ].join("\n");
};
