/** Checking a statement or an audit pack, for everyone who has the file: it needs no key. */
import { PageHead } from "../../blocks/blocks.tsx";
import { CheckFile } from "../proof/check/check-file.tsx";

const CheckPage = () => (
  <>
    <PageHead
      title="Check a file"
      about="Whether a holder's statement or an audit pack is what the register's deployment signed."
    />
    <CheckFile />
  </>
);

export default CheckPage;
