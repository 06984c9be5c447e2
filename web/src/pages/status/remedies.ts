/** What to do about each kind of stall, by the reason in `/health`; the docs say more. */

const REMEDIES: readonly { readonly says: RegExp; readonly remedy: string }[] = [
  {
    says: /process that indexes .*(not answered|recorded nothing)/,
    remedy:
      "Check the log of that process. If it hangs, stop it: its standby, or the next start, resumes from there.",
  },
  {
    says: /the database does not answer/,
    remedy:
      "Check that Postgres is running and reachable from this machine. Nothing is lost; the service resumes once it answers.",
  },
  {
    says: /\bqueue\b|Redis/,
    remedy:
      "Check that the server in REDIS_URL, or Postgres without that setting, is running and reachable. Requests and callbacks wait; none is lost.",
  },
  {
    says: /the database accepts no writes/,
    remedy:
      "Usually its disk is full, or DATABASE_URL points to a standby. Work resumes once writes succeed.",
  },
  {
    says: /gave up/,
    remedy: "It will not retry. Fix the problem in the reason, then restart the process.",
  },
  {
    says: /the source .*(answer|silent|not)/,
    remedy:
      "Try the source's address from this machine. If the node is gone, set LEDGER_SOURCE to another one; the log continues from where it is.",
  },
  {
    says: /another process|\block\b/,
    remedy:
      "Another process runs this part. That is normal for a standby; otherwise stop one of them.",
  },
  {
    says: /quarantine|undecodable|decode/,
    remedy:
      "A fact could not be decoded. Upgrade Holderbook: the log keeps the raw bytes, so nothing is lost or read again from the network.",
  },
];

const OF_PART: readonly { readonly part: RegExp; readonly remedy: string }[] = [
  {
    part: /^Integrity/,
    remedy:
      "Stored data were changed or damaged. Keep the database as it is, run `holderbook verify --log` and `holderbook reconcile`, and compare with a backup.",
  },
  {
    part: /^Pipeline/,
    remedy:
      "Check the log lines of this pipeline. If it waits for the database, check locks and disk there; `holderbook rebuild` rebuilds a pipeline.",
  },
  {
    part: /^The reader/,
    remedy: "Check the reader's log lines and the source. Run `holderbook doctor` on this machine.",
  },
  {
    part: /^(Chain|Transfer)/,
    remedy:
      "Check the chain's RPC endpoints. A second one in the assets file takes over automatically.",
  },
];

/** What to do about a stalled part. */
export const remedyOf = (part: string, reason: string): string =>
  (part.startsWith("Integrity") ? undefined : REMEDIES.find(({ says }) => says.test(reason)))
    ?.remedy ??
  OF_PART.find((one) => one.part.test(part))?.remedy ??
  "Check the service's log, and run `holderbook doctor` on this machine.";
