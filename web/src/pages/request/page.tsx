import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="request" />
    <Empty title="Being built" />
  </>
);

export default Page;
