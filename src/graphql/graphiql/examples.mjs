// What a first visitor finds. Those with a coin type get one that the service knows.

/** Stands for a coin type until one is known. */
export const NO_COIN = "0x…::module::TYPE";

export const EXAMPLES = [
  {
    title: "Tokens",
    query: `# Run with Ctrl-Enter. Ctrl-Space completes a word.

query Tokens {
  tokens(limit: 10) {
    coinType
    symbol
    decimals
    totalSupply
    holderCount
  }
}
`,
  },
  {
    title: "Status",
    query: `query Status {
  indexerStatus {
    pipeline
    checkpoint
    checkpointTimestamp
    ageSeconds
  }
}
`,
  },
  {
    title: "Cap table",
    needsCoin: true,
    query: `query CapTable($coinType: String!) {
  capTable(coinType: $coinType, limit: 10) {
    checkpoint
    issued
    holderCount
    rows {
      holderId
      balance
      unlocked
      locked
      share
      wallets {
        address
        balance
      }
    }
  }
}
`,
  },
  {
    title: "Newest movements",
    needsCoin: true,
    query: `query Movements($coinType: String!) {
  tokenActivity(coinType: $coinType, limit: 20, order: DESC) {
    activityType
    amount
    fromAddress
    toAddress
    txDigest
    checkpointTimestamp
    position
  }
}
`,
  },
  {
    title: "Follow movements (live)",
    needsCoin: true,
    query: `# Runs until you stop it. Without after, it begins with the next event.

subscription Movements($coinType: String!, $after: String) {
  tokenActivity(coinType: $coinType, after: $after) {
    position
    activityType
    amount
    fromAddress
    toAddress
  }
}
`,
  },
  {
    title: "Follow the status (live)",
    query: `subscription Status {
  indexerStatus {
    pipeline
    checkpoint
    ageSeconds
  }
}
`,
  },
];
