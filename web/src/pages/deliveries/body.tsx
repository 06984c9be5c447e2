/** What a callback sends, as JSON with exact integers. */
import { CopyButton } from "../../shown/copied.tsx";
import { jsonText } from "./json-text.ts";

/** In place of what names an investor. */
const SEALED = "(sealed)";

const isSealed = (line: string): boolean => line.replace(/,$/, "").endsWith(`: "${SEALED}"`);

export const Body = ({ of: body }: { readonly of: Readonly<Record<string, unknown>> }) => {
  const text = jsonText(body);
  const lines = text.split("\n");
  return (
    <section aria-label="Body" className="mt-4">
      <div className="flex items-center justify-between gap-2">
        <h3 className="text-sm font-semibold">Body</h3>
        <CopyButton text={text} what="body" />
      </div>
      <pre className="mt-1 rounded-md bg-sunken px-3 py-2 font-mono text-xs leading-5 whitespace-pre-wrap wrap-anywhere">
        {lines.map((line, index) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: a text does not change its order
            key={index}
            className={`block ${isSealed(line) ? "text-muted italic" : ""}`}
          >
            {line}
          </span>
        ))}
      </pre>
      {lines.some(isSealed) ? (
        <p className="mt-1 text-xs text-muted">
          (sealed): names an investor. The receiver gets it, this page does not.
        </p>
      ) : null}
    </section>
  );
};
