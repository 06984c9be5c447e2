/** What a holder can keep and check without trusting anybody: the row with its path to the register's root. */
import { Button } from "../../controls/button.tsx";
import { Fault, useDoing } from "../../controls/doing.tsx";
import { askFile, save } from "../../data/ask.ts";
import { useSession } from "../../data/session.ts";
import { type Register, type Row, rowId } from "../../register/register.ts";
import { SaveIcon } from "../../shown/icons.tsx";

export const StatementDownload = ({
  register,
  row,
}: {
  readonly register: Register;
  readonly row: Row;
}) => {
  const { key } = useSession();
  const { busy, fault, during } = useDoing();
  const download = () =>
    during(async () => {
      const { coinType, checkpoint: atCheckpoint } = register;
      const whose: Record<string, string> =
        row.holderId === null ? { owner: rowId(row) } : { holderId: row.holderId };
      const asked = new URLSearchParams({ coinType, atCheckpoint, version: "2", ...whose });
      save(await askFile(`/exports/statement?${asked}`, { key }));
    });
  return (
    <>
      <Fault text={fault} />
      <Button disabled={busy} onClick={() => void download()}>
        <SaveIcon />
        {busy ? "Preparing…" : "Statement"}
      </Button>
    </>
  );
};
