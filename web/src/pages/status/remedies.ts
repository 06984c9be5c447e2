/** What to do about each kind of stall, by what `/health` says; docs have the long form. */

const REMEDIES: readonly { readonly says: RegExp; readonly remedy: string }[] = [
  {
    says: /process that indexes .*(not answered|put nothing down)/,
    remedy:
      "Look at the log of that process. If it hangs, stop it: its standby, or the next start, goes on where it was.",
  },
  {
    says: /the database does not answer/,
    remedy:
      "Check that Postgres runs and can be reached from this machine. Nothing is lost; the service resumes by itself once it answers.",
  },
  {
    says: /\bqueue\b|Redis/,
    remedy:
      "Check that the server in REDIS_URL, or Postgres where that is not set, runs and can be reached. Requests and callbacks wait; none is lost.",
  },
  {
    says: /the database takes no writes/,
    remedy:
      "Usually its disk is full, or DATABASE_URL leads to a standby. Work goes on by itself once it takes writes again.",
  },
  {
    says: /gave up/,
    remedy:
      "It will not try again by itself. The reason names what it could not do; mend that, then start the process again.",
  },
  {
    says: /the source .*(answer|silent|not)/,
    remedy:
      "Try the source's address from this machine. If the node is gone, set LEDGER_SOURCE to another one; the log continues.",
  },
  {
    says: /another process|\block\b/,
    remedy:
      "Another process has this part. That is right for a standby; otherwise stop one of them.",
  },
  {
    says: /quarantine|undecodable|decode/,
    remedy:
      "A fact could not be read. Upgrade Holderbook: facts keep their raw bytes, so nothing is lost and nothing is read again from the network.",
  },
];

const OF_PART: readonly { readonly part: RegExp; readonly remedy: string }[] = [
  {
    part: /^Integrity/,
    remedy:
      "What is stored was changed from outside, or is broken. Keep the database as it is, run `holderbook verify --log` and `holderbook reconcile`, and compare with a backup.",
  },
  {
    part: /^Pipeline/,
    remedy:
      "Look at the log lines of this pipeline. If it waits for the database, look at locks and disk there; a pipeline can be rebuilt with `holderbook rebuild`.",
  },
  {
    part: /^The reader/,
    remedy:
      "Look at the reader's log lines and at the source. Run `holderbook doctor` on this machine.",
  },
  {
    part: /^(Chain|Transfer)/,
    remedy:
      "Look at the chain's RPC endpoints: a second one in the assets file takes over by itself.",
  },
];

/** A sentence or two for whoever is called at night. */
export const remedyOf = (part: string, reason: string): string =>
  (part.startsWith("Integrity") ? undefined : REMEDIES.find(({ says }) => says.test(reason)))
    ?.remedy ??
  OF_PART.find((one) => one.part.test(part))?.remedy ??
  "Look at the service's log, and run `holderbook doctor` on this machine.";
