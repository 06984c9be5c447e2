import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { hashed } from "../../src/evidence/pack/form.ts";

/** The system reports a size of 0, as for a pipe, but it is not empty. */
const SIZELESS = "/proc/version";

test.runIf(existsSync(SIZELESS))(
  "a file of unknown size, such as a pipe, is hashed to its end",
  async () => {
    const bytes = await readFile(SIZELESS);
    expect(await hashed(SIZELESS)).toEqual({
      sha256: createHash("sha256").update(bytes).digest("hex"),
      size: `${bytes.length}`,
    });
  },
);
