/** A short history in which every pipeline has something to do, in several batches. */
import { SHARED_TOKEN, TIMELOCK } from "../../src/ledger/contract/names.ts";
import {
  address,
  addressAdded,
  BETA,
  batchOf,
  frozen,
  grant,
  holderAddedTo,
  joinedGroup,
  minted,
  PACKAGE,
  removed,
  roleChanged,
  type SaidCheckpoint,
  token,
  transferred,
} from "./token-facts.ts";

const [ALICE, BOB] = [address("a11ce"), address("b0b")];
const [T1, T2, G1, G2] = [address("71"), address("72"), address("91"), address("92")];
const ADMIN = `${PACKAGE.slice(2)}::roles::ContractAdmin`;
const WALLETS = `${PACKAGE.slice(2)}::roles::WalletsAdmin`;

const checkpoints: readonly (readonly SaidCheckpoint[])[] = [
  [
    {
      sequence: 0n,
      transactions: [
        [
          minted({ tokenId: T1, to: ALICE, amount: 900n }),
          roleChanged({ owner: ALICE, role: ADMIN, granted: true }),
          addressAdded({ holderId: 0n, addr: ALICE }),
          holderAddedTo({ holderId: 0n, addresses: [ALICE] }),
          token({ id: T1, owner: ALICE, balance: 900n }),
          grant({ id: G1, owner: ALICE, leftBalance: 50n }),
        ],
      ],
    },
    { sequence: 1n, transactions: [] },
  ],
  [
    {
      sequence: 2n,
      transactions: [
        [
          transferred({ tokenId: T1, from: ALICE, to: BOB, amount: 900n }),
          token({ id: T1, owner: BOB, balance: 900n }),
          token({ id: T2, owner: BOB, balance: 5n }, BETA),
          roleChanged({ owner: BOB, role: WALLETS, granted: true }),
          joinedGroup({ addr: BOB, groupId: 7n }),
          grant({ id: G2, owner: BOB, leftBalance: 60n }),
        ],
        [
          roleChanged({ owner: ALICE, role: ADMIN, granted: false }),
          removed(TIMELOCK, G1),
          frozen({ addr: BOB, isFrozen: true }),
        ],
      ],
    },
  ],
  [
    {
      sequence: 3n,
      transactions: [
        [
          minted({ tokenId: T2, to: ALICE, amount: 1n }, BETA),
          removed(SHARED_TOKEN, T2, BETA),
          grant({ id: G2, owner: ALICE, leftBalance: 40n, tokensTransferred: 20n }),
          roleChanged({ owner: BOB, role: ADMIN, granted: true }, BETA),
          joinedGroup({ addr: ALICE, groupId: 1n }, BETA),
        ],
      ],
    },
  ],
];

/** Its batches, in order; each holds facts for every pipeline. */
export const exampleHistory = checkpoints.map(batchOf);
