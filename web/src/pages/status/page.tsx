import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="status" />
    <Empty title="Being built" />
  </>
);

export default Page;
