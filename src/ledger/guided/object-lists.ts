/** Asking the lists for objects: several in a request, where that scans little more. */
import type { ListedRange } from "../history/ledger-index.ts";
import type { Discovery } from "./discovery.ts";

/** An object, and the checkpoints to ask about, bounds included. */
export type Asked = ListedRange & { readonly id: string };

/** Literals of a request that nodes accept. */
export const LITERALS = 10;
/** Requests whose checkpoints are fetched together. */
const REQUESTS = 4;
/** Checkpoints between gaps that one request may scan needlessly. */
const SHARED_SCAN = 10_000n;

/** Asks for objects over ranges, and reads what the lists name. */
export const askForObjects = async (
  { index, intake, findings }: Pick<Discovery, "index" | "intake" | "findings">,
  asked: readonly Asked[],
): Promise<void> => {
  const requests = together(asked);
  for (let from = 0; from < requests.length; from += REQUESTS) {
    const listedFor = new Map<bigint, string[]>();
    await intake.listed(
      async function* (own) {
        for (const { ids, ...range } of requests.slice(from, from + REQUESTS)) {
          const touches = ids.map((address) => ({ kind: "object" as const, address }));
          for await (const sequence of index.touching(touches, range, own)) {
            if (findings.read.has(sequence)) continue;
            listedFor.set(sequence, [...(listedFor.get(sequence) ?? []), ...ids]);
            yield sequence;
          }
        }
      },
      (sequence) => listedFor.get(sequence) ?? [],
    );
  }
};

type Request = { readonly ids: string[]; first: bigint; last: bigint };

/** Requests for objects. Empty ranges are left out. */
const together = (asked: readonly Asked[]): readonly Request[] => {
  const inOrder = asked
    .filter(({ first, last }) => first <= last)
    .toSorted((a, b) =>
      a.first < b.first ? -1 : a.first > b.first ? 1 : a.last < b.last ? -1 : 1,
    );
  const requests: Request[] = [];
  for (const { id, first, last } of inOrder) {
    const open = requests.at(-1);
    const union = open === undefined || last > open.last ? last : open.last;
    const isClose =
      open !== undefined &&
      open.ids.length < LITERALS &&
      first - open.first <= SHARED_SCAN + (open.last - open.first) / 2n &&
      union - open.last <= SHARED_SCAN + (open.last - open.first) / 2n;
    if (!isClose) requests.push({ ids: [id], first, last });
    else {
      if (!open.ids.includes(id)) open.ids.push(id);
      open.last = union;
    }
  }
  return requests;
};
