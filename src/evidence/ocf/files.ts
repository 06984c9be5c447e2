/** Lists of objects as files of Open Cap Format: many items need several files; none is empty. */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { PackagedFile } from "./forms.ts";

const FILE_TYPES = {
  Stakeholders: "OCF_STAKEHOLDERS_FILE",
  StockClasses: "OCF_STOCK_CLASSES_FILE",
  StockLegends: "OCF_STOCK_LEGEND_TEMPLATES_FILE",
  Transactions: "OCF_TRANSACTIONS_FILE",
  VestingTerms: "OCF_VESTING_TERMS_FILE",
} as const;

/** Per file: about 50 MB of transactions. */
const MOST_ITEMS = 100_000;

/** Characters buffered before a write. */
const BUFFER_CHARACTERS = 1 << 20;

/** Writes one item a line into `Name.ocf.json`, then `Name-2.ocf.json` and so on. */
export class ItemFiles {
  readonly #folder: string;
  readonly #name: keyof typeof FILE_TYPES;
  readonly #written: PackagedFile[] = [];
  #file: FileHandle | undefined;
  #md5 = createHash("md5");
  #text = "";
  #inFile = 0;
  #count = 0;

  constructor(folder: string, name: keyof typeof FILE_TYPES) {
    this.#folder = folder;
    this.#name = name;
  }

  get count(): number {
    return this.#count;
  }

  /** @param item JSON */
  async add(item: string): Promise<void> {
    if (this.#inFile === MOST_ITEMS) await this.#close();
    this.#text +=
      this.#inFile === 0
        ? `{"file_type":"${FILE_TYPES[this.#name]}","items":[\n${item}`
        : `,\n${item}`;
    this.#inFile += 1;
    this.#count += 1;
    if (this.#text.length > BUFFER_CHARACTERS) await this.#flush();
  }

  /** Closes the last file. @returns all files; none without items */
  async end(): Promise<PackagedFile[]> {
    if (this.#inFile > 0) await this.#close();
    return this.#written;
  }

  async abandon(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  get #filename(): string {
    const number = this.#written.length + 1;
    return `${this.#name}${number === 1 ? "" : `-${number}`}.ocf.json`;
  }

  async #flush(): Promise<void> {
    this.#file ??= await open(join(this.#folder, this.#filename), "wx");
    const bytes = Buffer.from(this.#text, "utf8");
    this.#text = "";
    this.#md5.update(bytes);
    await this.#file.writeFile(bytes);
  }

  async #close(): Promise<void> {
    this.#text += "\n]}\n";
    await this.#flush();
    await this.abandon();
    this.#written.push({ filepath: `./${this.#filename}`, md5: this.#md5.digest("hex") });
    this.#md5 = createHash("md5");
    this.#inFile = 0;
  }
}
