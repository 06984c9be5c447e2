import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="today" />
    <Empty title="Being built" />
  </>
);

export default Page;
