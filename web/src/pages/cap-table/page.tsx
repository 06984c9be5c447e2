import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="cap-table" />
    <Empty title="Being built" />
  </>
);

export default Page;
