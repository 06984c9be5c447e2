/** The register as a file, of the very checkpoint that is shown. */
import { useState } from "react";
import { Button } from "../../controls/button.tsx";
import { Fault, useDoing } from "../../controls/doing.tsx";
import { askFile, save } from "../../data/ask.ts";
import { useSession } from "../../data/session.ts";
import type { Register } from "../../register/register.ts";
import { SaveIcon } from "../../shown/icons.tsx";

const FORMATS = [
  { format: "csv", label: "CSV", title: "For a spreadsheet: amounts in tokens" },
  {
    format: "csv-zip",
    label: "CSV + proof",
    title: "The CSV with checkpoint, digest, total and root",
  },
  { format: "json", label: "JSON", title: "For programs: amounts in the smallest unit" },
  { format: "ocf", label: "OCF", title: "Open Cap Format, for cap-table programs" },
] as const;

export const Downloads = ({
  register,
  label,
}: {
  readonly register: Register;
  /** Of the token. */
  readonly label: string;
}) => {
  const { key } = useSession();
  const { busy, fault, during } = useDoing();
  const [chosen, setChosen] = useState<string | null>(null);
  const download = (format: string) =>
    during(async () => {
      setChosen(format);
      const { coinType, checkpoint } = register;
      const asked = new URLSearchParams({ coinType, atCheckpoint: checkpoint, format });
      save(await askFile(`/exports/cap-table?${asked}`, { key }));
    });
  return (
    <fieldset
      className="flex flex-wrap items-center gap-2"
      aria-label={`Download the cap table of ${label}`}
    >
      <Fault text={fault} />
      {FORMATS.map(({ format, label: name, title }) => (
        <Button key={format} title={title} disabled={busy} onClick={() => void download(format)}>
          <SaveIcon />
          {busy && chosen === format ? "Preparing…" : name}
        </Button>
      ))}
    </fieldset>
  );
};
