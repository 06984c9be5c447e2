// Copies the register of a token in two ways, and compares them:
//   node cap-table.mjs http://localhost:4000/graphql hb_graphql_… 0x…::acme::ACME
const [url, key, coin] = process.argv.slice(2);

const ask = async (query, variables) => {
  const headers = { "Content-Type": "application/json", "X-API-Key": key };
  const body = JSON.stringify({ query, variables });
  const { data, errors } = await (await fetch(url, { method: "POST", headers, body })).json();
  if (errors) throw new Error(errors.map(({ message }) => message).join("; "));
  return data;
};

// First way: page at a fixed checkpoint. Its answers never change, so all pages are consistent.
const at = (await ask("{ _meta { checkpoint } }"))._meta.checkpoint;
const copied = new Map();
for (let after = null, rows; rows?.length !== 0; ) {
  ({ rows } = (
    await ask(
      `query ($coin: String!, $at: String!, $after: String) {
        capTable(coinType: $coin, atCheckpoint: $at, after: $after, limit: 100) {
          rows { wallets { address balance } cursor }
        }
      }`,
      { coin, at, after },
    )
  ).capTable);
  for (const { address, balance } of rows.flatMap((row) => row.wallets)) {
    if (balance !== "0") copied.set(address, BigInt(balance));
  }
  after = rows.at(-1)?.cursor;
}

// Second way: follow every movement from the first one on. Keep the cursor to query more later.
const followed = new Map();
for (let after = null, rows; rows?.length !== 0; after = rows.at(-1)?.cursor) {
  ({ balanceChanges: rows } = await ask(
    `query ($coin: String!, $after: String) {
      balanceChanges(coinType: $coin, after: $after, limit: 1000) { checkpoint owner change cursor }
    }`,
    { coin, after },
  ));
  for (const { checkpoint, owner, change } of rows) {
    if (BigInt(checkpoint) > BigInt(at)) continue;
    const balance = (followed.get(owner) ?? 0n) + BigInt(change);
    if (balance === 0n) followed.delete(owner);
    else followed.set(owner, balance);
  }
}

const differing = [...new Set([...copied.keys(), ...followed.keys()])].filter(
  (owner) => copied.get(owner) !== followed.get(owner),
);
console.log(`checkpoint ${at}: ${copied.size} owners, ${differing.length} differ`);
process.exitCode = differing.length === 0 ? 0 : 1;
