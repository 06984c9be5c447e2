import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="proof" />
    <Empty title="Being built" />
  </>
);

export default Page;
