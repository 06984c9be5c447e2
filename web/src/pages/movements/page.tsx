import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="movements" />
    <Empty title="Being built" />
  </>
);

export default Page;
