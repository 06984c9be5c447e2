/** Instead of an error, where the service does not answer: what is gone, what can still be done, what to run next. */
import { Link } from "@tanstack/react-router";
import { Card } from "../../blocks/blocks.tsx";
import { useContact } from "../../data/contact.ts";
import { useSettings } from "../../data/session.ts";
import { CopyButton } from "../../shown/copied.tsx";
import { clockText, momentText, spanText } from "../../shown/moment.ts";
import { useNow } from "../../shown/shown.tsx";

type Step = { readonly command: string; readonly tells: string };

const UNIT: readonly Step[] = [
  { command: "systemctl status holderbook", tells: "whether its process runs, and why it ended" },
  { command: "journalctl -u holderbook -n 50", tells: "its last lines; an error names its remedy" },
];

/** The demo is started by hand. */
const DEMO: readonly Step[] = [
  { command: "npm start", tells: "starts the demo again where it ended" },
];

const COMMANDS: readonly Step[] = [
  {
    command: "holderbook status",
    tells: "how far log and pipelines are, from the database: whether indexing goes on",
  },
  {
    command: "holderbook doctor",
    tells: "settings, database, source and port, each with what to do",
  },
];

/** Nothing while the service answers. */
export const Gone = () => {
  const { lostMs, heardMs } = useContact();
  const { demo } = useSettings();
  const now = useNow();
  if (lostMs === null) return null;
  const steps = [...(demo === null ? UNIT : DEMO), ...COMMANDS];
  return (
    <Card
      title={`${location.host} has not answered for ${spanText((now - lostMs) / 1_000)}`}
      about={`First request without an answer: ${momentText(lostMs)}${heardMs === null ? "" : `. Last answer: ${clockText(heardMs, now)}`}`}
      className="mb-4 border-bad"
    >
      <div className="grid grid-cols-1 gap-x-8 gap-y-4 text-sm lg:grid-cols-2">
        <div className="min-w-0">
          <h3 className="font-semibold">Gone</h3>
          <ul className="mt-1 list-disc space-y-1 pl-5">
            <li>This page's figures, and every query, download and request to this address.</li>
            <li>
              Callers of the transfer agent get no answer. They may repeat a request unchanged: it
              is accepted once.
            </li>
          </ul>
          <h3 className="mt-4 font-semibold">Not lost, and still possible</h3>
          <ul className="mt-1 list-disc space-y-1 pl-5">
            <li>
              Log, register, accepted requests and callbacks are in the database and wait there.
            </li>
            <li>
              A process of its own that indexes goes on; <code>holderbook status</code> shows it.
            </li>
            <li>
              What this page has read stays, with its time; the figures below are the last ones.
            </li>
            <li>
              <Link to="/check" className="text-accent underline">
                Check a file
              </Link>{" "}
              verifies a statement or an audit pack here, without the service.
            </li>
          </ul>
        </div>
        <div className="min-w-0">
          <h3 className="font-semibold">Next, on the machine of the service</h3>
          <ol className="mt-1 space-y-2">
            {steps.map(({ command, tells }) => (
              <li key={command}>
                <span className="flex items-center gap-1 rounded-md bg-sunken py-0.5 pr-1 pl-2.5">
                  <code className="min-w-0 grow font-mono text-xs wrap-anywhere">{command}</code>
                  <CopyButton text={command} what="command" />
                </span>
                <span className="text-xs text-muted">{tells}</span>
              </li>
            ))}
          </ol>
          <p className="mt-3 text-xs text-muted">
            In the installation: <code>docs/how-to/operations.md</code>, "When something is red",
            lists each error with its remedy; without a unit named holderbook, see{" "}
            <code>docs/how-to/deploy.md</code>. In a checkout,{" "}
            <code>npm run holderbook -- doctor</code> is the same command. The page keeps trying,
            and shows when the service is back.
          </p>
        </div>
      </div>
    </Card>
  );
};
