/** The register as a file, of the very checkpoint that is shown. */
import { useState } from "react";
import { Button } from "../../controls/button.tsx";
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
  const [busy, setBusy] = useState<string | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  const download = async (format: string) => {
    setBusy(format);
    setFailed(null);
    try {
      const { coinType, checkpoint } = register;
      const asked = new URLSearchParams({ coinType, atCheckpoint: checkpoint, format });
      save(await askFile(`/exports/cap-table?${asked}`, { key }));
    } catch (error) {
      setFailed(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(null);
    }
  };
  return (
    <fieldset
      className="flex flex-wrap items-center gap-2"
      aria-label={`Download the cap table of ${label}`}
    >
      {failed === null ? null : (
        <span role="alert" className="text-xs text-bad">
          {failed}
        </span>
      )}
      {FORMATS.map(({ format, label: name, title }) => (
        <Button
          key={format}
          title={title}
          disabled={busy !== null}
          onClick={() => void download(format)}
        >
          <SaveIcon />
          {busy === format ? "Preparing…" : name}
        </Button>
      ))}
    </fieldset>
  );
};
